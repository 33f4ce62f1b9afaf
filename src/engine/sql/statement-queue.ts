import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import { sqlFault } from "./fault.ts";

export interface QueueLimits {
  readonly runningMax: number;
  readonly waitingMax: number;
  readonly waitMs: number;
}

interface Waiter {
  readonly namespace: number;
  readonly go: () => void;
  readonly refuse: (error: unknown) => void;
}

/**
 * Lets a few statements work at a time. Namespaces are served in rotation, so that one with many statements does not hold up the
 * others; within one, whoever waits longest goes next.
 */
export class StatementQueue {
  readonly #limits: QueueLimits;
  readonly #clock: Clock;
  /** Those who wait, by their namespace. The one that was served last comes last, none is empty. */
  readonly #waiting = new Map<number, Waiter[]>();
  #waitingCount = 0;
  /** Steps of statements that have begun, which go before those that have not. */
  readonly #begun = new Set<() => void>();
  #running = 0;

  constructor(limits: QueueLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waitingCount + this.#begun.size;
  }

  /** Runs the first step of a namespace's statement once it is let in. */
  async begin<T>(namespace: number, signal: AbortSignal | undefined, step: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running < this.#limits.runningMax) this.#running++;
    else await this.#wait(namespace, signal);
    return this.#run(step);
  }

  /** Runs a later step: once a statement has begun, it is not refused. */
  async goOn<T>(signal: AbortSignal | undefined, step: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running < this.#limits.runningMax) this.#running++;
    else await this.#waitBegun(signal);
    return this.#run(step);
  }

  async #run<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } finally {
      this.#leave();
    }
  }

  async #waitBegun(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => {
      if (this.#begun.delete(resolve)) reject(signal?.reason);
    };
    this.#begun.add(resolve);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async #wait(namespace: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#waitingCount >= this.#limits.waitingMax) this.#makeRoom(namespace);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { namespace, go: resolve, refuse: reject };
    const over = new AbortController();
    const stop = () => this.#refuse(waiter, signal?.reason);
    this.#add(waiter);
    signal?.addEventListener("abort", stop, { once: true });
    void this.#clock.sleep(this.#limits.waitMs, over.signal).then(() => {
      if (!over.signal.aborted) this.#refuse(waiter, busy("the statement was queued for too long; retry"));
    });
    try {
      await promise;
    } finally {
      over.abort();
      signal?.removeEventListener("abort", stop);
    }
  }

  #add(waiter: Waiter): void {
    const line = this.#waiting.get(waiter.namespace);
    if (line === undefined) this.#waiting.set(waiter.namespace, [waiter]);
    else line.push(waiter);
    this.#waitingCount++;
  }

  /** The newest of the longest line gives way to one of a shorter line. */
  #makeRoom(namespace: number): void {
    let longest: Waiter[] = [];
    for (const line of this.#waiting.values()) if (line.length > longest.length) longest = line;
    const own = this.#waiting.get(namespace)?.length ?? 0;
    const message = "too many statements are queued; retry";
    if (own + 1 >= longest.length) throw busy(message);
    this.#refuse(longest.at(-1)!, busy(message));
  }

  /** One that has been let in stays and is stopped there. */
  #refuse(waiter: Waiter, error: unknown): void {
    const line = this.#waiting.get(waiter.namespace);
    const at = line?.indexOf(waiter) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) this.#waiting.delete(waiter.namespace);
    this.#waitingCount--;
    waiter.refuse(error);
  }

  #leave(): void {
    assert(this.#running > 0 && this.#waitingCount >= 0, "a statement leaves the queue once");
    const [begun] = this.#begun;
    if (begun !== undefined) {
      this.#begun.delete(begun);
      begun();
      return;
    }
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running--;
      return;
    }
    const [namespace, line] = first;
    const next = line.shift()!;
    this.#waitingCount--;
    this.#waiting.delete(namespace);
    if (line.length > 0) this.#waiting.set(namespace, line);
    next.go();
  }
}

function busy(message: string) {
  return sqlFault("busy", message);
}
