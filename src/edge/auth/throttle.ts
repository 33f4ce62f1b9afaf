import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import { addressGroup } from "./address.ts";

export const throttleLimits = {
  /** Failures of one address in a window that are answered at once. */
  freeFailures: 20,
  windowMs: 60_000,
  /** Delay of the first slowed answer; it doubles with each further one. */
  delayMsMin: 100,
  delayMsMax: 2_000,
  /** Answers held back at a time, over all addresses; further ones go out at once. */
  delayedAnswersMax: 1_000,
  addressesMax: 10_000,
} as const;

interface Window {
  readonly startMs: number;
  failures: number;
}

/**
 * Slows down who guesses. It is asked only once a credential has failed, so a valid one is never delayed, whatever
 * came from its address before.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #windows = new LruMap<string, Window>(throttleLimits.addressesMax);
  readonly #closed = new AbortController();
  #delayed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Answers held back now. */
  get delayed(): number {
    return this.#delayed;
  }

  /** Counts a failure and resolves when its answer may go out: at once, or early when `signal` is aborted. */
  async failed(address: string, signal?: AbortSignal): Promise<void> {
    const delayMs = this.#delayFor(address);
    if (delayMs === 0 || this.#delayed >= throttleLimits.delayedAnswersMax) return;
    this.#delayed += 1;
    try {
      const closed = this.#closed.signal;
      await this.#clock.sleep(delayMs, signal === undefined ? closed : AbortSignal.any([signal, closed]));
    } finally {
      this.#delayed -= 1;
    }
  }

  /** Lets every held answer go. */
  close(): void {
    this.#closed.abort();
  }

  #delayFor(address: string): number {
    const group = addressGroup(address);
    const nowMs = this.#clock.steadyMs();
    let window = this.#windows.get(group);
    if (window === undefined || nowMs - window.startMs >= throttleLimits.windowMs) {
      window = { startMs: nowMs, failures: 0 };
      this.#windows.set(group, window);
    }
    window.failures += 1;
    const over = window.failures - throttleLimits.freeFailures;
    if (over <= 0) return 0;
    return Math.min(throttleLimits.delayMsMin * 2 ** Math.min(over - 1, 30), throttleLimits.delayMsMax);
  }
}
