import type { Clock } from "../../port/clock.ts";

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** Time that passes only when it is told to, for tests and simulation. */
export class SimulatedClock implements Clock {
  #nowMs: number;
  #passedMs = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  steadyMs(): number {
    return this.#passedMs;
  }

  /** How many sleep now. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) return resolve();
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { dueMs: this.#passedMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  /** Lets time pass. Those whose sleep is over wake in the order in which it ended. */
  advance(ms: number): void {
    this.#nowMs += ms;
    this.#passedMs += ms;
    const due = [...this.#sleepers].filter(({ dueMs }) => dueMs <= this.#passedMs);
    for (const { wake } of due.sort((a, b) => a.dueMs - b.dueMs)) wake();
  }
}
