import { performance } from "node:perf_hooks";

/** What is sent together at most, and how old its first part may get. */
export const outboxLimits = { messagesMax: 16, waitMsMax: 0.5 } as const;

interface Waiting<M> {
  readonly message: M;
  readonly transfer: readonly ArrayBuffer[];
}

/**
 * Messages to another thread. Those of one turn of the event loop go together: waking a thread costs more than most
 * messages, so that a busy one is woken once for several. They arrive in the order in which they were given.
 */
export class Outbox<M> {
  readonly #send: (messages: M[], transfer: ArrayBuffer[]) => void;
  readonly #onUnsendable: (message: M, error: unknown) => void;
  #waiting: Waiting<M>[] = [];
  #sinceMs = 0;
  #flushing: NodeJS.Immediate | undefined;

  constructor(
    send: (messages: M[], transfer: ArrayBuffer[]) => void,
    onUnsendable: (message: M, error: unknown) => void,
  ) {
    this.#send = send;
    this.#onUnsendable = onUnsendable;
  }

  push(message: M, transfer: readonly ArrayBuffer[] = []): void {
    const waiting = this.#waiting;
    waiting.push({ message, transfer });
    if (waiting.length === 1) {
      this.#sinceMs = performance.now();
      this.#flushing = setImmediate(() => this.flush());
    } else if (
      waiting.length >= outboxLimits.messagesMax ||
      performance.now() - this.#sinceMs >= outboxLimits.waitMsMax
    ) {
      this.flush();
    }
  }

  flush(): void {
    const waiting = this.#waiting;
    this.clear();
    if (waiting.length > 0) this.#sendAll(waiting);
  }

  #sendAll(waiting: readonly Waiting<M>[]): void {
    try {
      this.#send(
        waiting.map(({ message }) => message),
        waiting.flatMap(({ transfer }) => transfer),
      );
    } catch (error) {
      // Nothing of it was sent. What holds something that can't cross must not keep the others back.
      if (waiting.length === 1) this.#onUnsendable(waiting[0]!.message, error);
      else for (const each of waiting) this.#sendAll([each]);
    }
  }

  /** Drops what was not sent. */
  clear(): void {
    this.#waiting = [];
    clearImmediate(this.#flushing);
  }
}
