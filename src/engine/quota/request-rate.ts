/** A bucket of requests: it holds one second's worth and fills at the rate. */
export class RequestRate {
  readonly perSecond: number;
  #left: number;
  #filledMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.perSecond = perSecond;
    this.#left = perSecond;
    this.#filledMs = nowMs;
  }

  /** Takes one request out: 0, or how long to wait until there is one. */
  take(nowMs: number): number {
    const filled = ((nowMs - this.#filledMs) * this.perSecond) / 1_000;
    this.#left = Math.min(this.perSecond, this.#left + filled);
    this.#filledMs = nowMs;
    if (this.#left < 1) return Math.ceil(((1 - this.#left) * 1_000) / this.perSecond);
    this.#left--;
    return 0;
  }
}
