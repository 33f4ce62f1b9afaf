import assert from "node:assert/strict";
import { unavailable } from "../errors.ts";
import { queryStopped } from "../retrieval/stopped.ts";

/** Queries under way at once; most hold a snapshot of the store. More wait, */
const runningMax = 128;
/** and no more than this wait. */
const waitingMax = 2_000;

/** Who may search now. */
export class QueryQueue {
  /** In the order of their arrival. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** Undefined where there is a place at once. Whoever gets one gives it back by `leave`. */
  enter(signal: AbortSignal | undefined): Promise<void> | undefined {
    if (signal?.aborted) throw queryStopped();
    if (this.#running < runningMax) {
      this.#running++;
      return undefined;
    }
    if (this.#waiting.size >= waitingMax) throw unavailable("too many queries wait; retry");
    return this.#wait(signal);
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      // One that has been given its place already keeps it and is stopped when it searches.
      if (this.#waiting.delete(resolve)) reject(queryStopped());
    };
    this.#waiting.add(resolve);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Whoever waits longest takes the place over; it stays counted as running. */
  leave(): void {
    assert(this.#running > 0, "a place is given back once");
    const [next] = this.#waiting;
    if (next === undefined) this.#running--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
