import type { Clock } from "../../src/port/clock.ts";

/** A clock that moves only when it is told to. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #sleepers = new Set<{ readonly dueMs: number; readonly wake: () => void }>();

  constructor(nowMs = Date.now()) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  steadyMs(): number {
    return this.#nowMs;
  }

  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const sleeper = {
        dueMs: this.#nowMs + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", sleeper.wake, { once: true });
    });
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const sleeper of [...this.#sleepers]) if (sleeper.dueMs <= this.#nowMs) sleeper.wake();
  }
}
