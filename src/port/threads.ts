/**
 * Work beside the listener's thread. A thread takes messages in the order in which they were sent and keeps state
 * between them; when it is lost, its state is.
 */
export interface Thread {
  /** Sends a message that has no answer. */
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  /** Sends a message and resolves with its answer, or rejects with its error or when the thread is lost. */
  request(message: unknown, transfer?: readonly ArrayBuffer[]): Promise<unknown>;
  /** Called when the thread and its state are lost; the next message starts a new one. */
  onLost(callback: () => void): void;
  close(): Promise<void>;
}

export type ThreadRole = "index" | "build" | "dedup";

export interface Threads {
  start(role: ThreadRole): Thread;
}

/** Why a request to a thread failed: what its service threw, or `unavailable` when the thread was lost. */
export class ThreadError extends Error {
  /** A reason of the engine; undefined for a bug. */
  readonly reason: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(reason: string | undefined, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "ThreadError";
    this.reason = reason;
    this.details = details;
  }
}

/** An answer some of whose memory goes over to the asker instead of being copied. */
export class Transferred {
  readonly value: unknown;
  readonly transfer: readonly ArrayBuffer[];

  constructor(value: unknown, transfer: readonly ArrayBuffer[]) {
    this.value = value;
    this.transfer = transfer;
  }
}

/** What runs in a thread. */
export interface ThreadService {
  handle(message: unknown): unknown;
}
