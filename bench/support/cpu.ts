import { readFileSync } from "node:fs";

const ticksPerSecond = 100;

/**
 * Processor seconds that a process has used, all its threads together. On a machine that other work shares, time on
 * the processor says more than time on the clock.
 */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name may hold spaces; the fields after it are counted from its closing bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
