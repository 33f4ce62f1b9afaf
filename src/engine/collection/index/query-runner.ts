import type { Clock } from "../../../port/clock.ts";
import { queryStopped } from "../../retrieval/stopped.ts";
import type { Steps } from "../../turns.ts";

/** A query gives the thread to others after this long. */
const sliceMs = 2;

interface Running {
  readonly steps: Steps<unknown>;
  readonly resolve: (outcome: unknown) => void;
  readonly reject: (error: unknown) => void;
  cancelled: boolean;
}

/** Runs queries in slices, so that a long one does not hold up short ones or the writes that the thread applies. */
export class QueryRunner {
  readonly #clock: Clock;
  readonly #running = new Map<number, Running>();
  /** Queries that wait behind writes of their collection, and whether they were cancelled meanwhile. */
  readonly #expected = new Map<number, boolean>();
  #scheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tells of a query before it runs, so that it can be cancelled until then. */
  expect(id: number): void {
    this.#expected.set(id, false);
  }

  /** An expected query is to run now; returns whether it was cancelled. */
  arrive(id: number): boolean {
    const cancelled = this.#expected.get(id) ?? false;
    this.#expected.delete(id);
    return cancelled;
  }

  run<T>(id: number, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const running: Running = { steps, resolve: resolve as Running["resolve"], reject, cancelled: false };
      // Most queries end within their first slice and never wait for a turn.
      if (this.#slice(running)) return;
      this.#running.set(id, running);
      this.#schedule();
    });
  }

  cancel(id: number): void {
    const running = this.#running.get(id);
    if (running !== undefined) running.cancelled = true;
    else if (this.#expected.has(id)) this.#expected.set(id, true);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const [id, running] of [...this.#running]) if (this.#slice(running)) this.#running.delete(id);
      if (this.#running.size > 0) this.#schedule();
    });
  }

  /** Returns whether the query has ended. */
  #slice(running: Running): boolean {
    const endMs = this.#clock.steadyMs() + sliceMs;
    try {
      do {
        if (running.cancelled) throw queryStopped();
        const step = running.steps.next();
        if (step.done) {
          running.resolve(step.value);
          return true;
        }
      } while (this.#clock.steadyMs() < endMs);
      return false;
    } catch (error) {
      running.reject(error);
      return true;
    }
  }
}
