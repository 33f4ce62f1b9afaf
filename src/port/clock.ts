/** Time is injected, so that a seeded simulation can run the whole engine. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  nowMs(): number;
  /** A steady clock for measuring, in milliseconds with fractions. */
  steadyMs(): number;
  /** Resolves after the time has passed or, without error, once the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
