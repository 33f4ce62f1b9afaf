import { sqlFault } from "./fault.ts";

export interface TurnLimits {
  readonly runningMax: number;
  readonly waitingMax: number;
}

/** Lets a few statements work at a time; whoever waits longest goes next. */
export class StatementTurns {
  readonly #limits: TurnLimits;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs work in its turn. */
  async take<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#running < this.#limits.runningMax) {
      this.#running++;
      return;
    }
    if (this.#waiting.size >= this.#limits.waitingMax) {
      throw sqlFault("busy", "too many statements wait for their turn; retry");
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => {
      // One that has been given its turn keeps it and is stopped there.
      if (this.#waiting.delete(resolve)) reject(signal?.reason);
    };
    this.#waiting.add(resolve);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
