import type { Clock } from "../../port/clock.ts";

const longestTimerMs = 2 ** 31 - 1;

export class NodeClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  steadyMs(): number {
    return performance.now();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, longestTimerMs));
      signal?.addEventListener("abort", done, { once: true });
    });
  }
}
