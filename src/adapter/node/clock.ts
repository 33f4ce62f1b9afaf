import type { Clock } from "../../port/clock.ts";

const longestTimerMs = 2 ** 31 - 1;

/** When this thread's own clock began: with it, a moment is the same number in every thread of the process. */
const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export class NodeClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  steadyMs(): number {
    return originMs + performance.now();
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
