import { performance } from "node:perf_hooks";
import type { Clock } from "../../port/clock.ts";

const longestTimerMs = 2 ** 31 - 1;

/** When this thread's own clock began: with it, a moment is the same number in every thread of the process. */
const originMs = originOf(10);

/** The best of some tries: in one, the thread may lose its core between the two clocks. */
function originOf(tries: number): number {
  let origin = 0;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries; i++) {
    const beforeMs = performance.now();
    const [seconds, nanoseconds] = process.hrtime();
    const tookMs = performance.now() - beforeMs;
    if (tookMs >= leastMs) continue;
    leastMs = tookMs;
    origin = seconds * 1000 + nanoseconds / 1e6 - beforeMs - tookMs / 2;
  }
  return origin;
}

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
