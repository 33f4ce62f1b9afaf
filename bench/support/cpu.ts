import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const ticksPerSecond = 100;

/** Time spent in user and kernel, of a process or of one of its threads. */
function secondsOf(path: string): number {
  const stat = readFileSync(path, "utf8");
  // The name may hold spaces; the fields after it are counted from its closing bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/**
 * Processor seconds that a process has used, all its threads together. On a machine that other work shares, time on
 * the processor says more than time on the clock.
 */
export function cpuSeconds(pid: number): number {
  return secondsOf(`/proc/${pid}/stat`);
}

/** The same by thread; the process's own number is its first thread. */
export function threadSeconds(pid: number): Map<number, number> {
  const threads = new Map<number, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    // In nanoseconds, where the other files count ticks of ten milliseconds.
    const [spent = ""] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
    threads.set(Number(thread), Number(spent) / 1e9);
  }
  return threads;
}

/** A process that takes less than a tenth of a core over this time rests. */
const idleMs = 200;
const idleMsMax = 5_000;

/** Resolves when a process has nothing to do any more, or after a while. */
export async function idle(pid: number): Promise<void> {
  const startedMs = performance.now();
  for (let before = cpuSeconds(pid); performance.now() - startedMs < idleMsMax; ) {
    await sleep(idleMs);
    const now = cpuSeconds(pid);
    if ((now - before) * 1000 <= idleMs / 10) return;
    before = now;
  }
}
