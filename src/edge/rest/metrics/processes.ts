import type { Registry } from "prom-client";
import type { ChildrenStats } from "../../../port/children.ts";
import { readCounters, readGauge, readGauges } from "./scrape.ts";

/** What the processes of SQL statements take, read at each scrape. */
export function observeProcesses(registers: Registry[], stats: () => ChildrenStats): void {
  const processes = "Processes of SQL statements: running ones, and the spare that is warm";
  readGauges(registers, "service_sql_processes", processes, ["state"], () => {
    const { running, spare } = stats();
    return [
      [{ state: "running" }, running],
      [{ state: "spare" }, spare],
    ];
  });
  const resident = "Memory of all processes of SQL statements";
  readGauge(registers, "service_sql_process_resident_bytes", resident, () => stats().residentBytes);
  const lost = "Processes of SQL statements that were lost: crashed, late to answer, or too large";
  readCounters(registers, "service_sql_processes_lost_total", lost, ["why"], function* () {
    for (const why of ["crashed", "late", "memory"] as const) yield [{ why }, stats().lost[why]];
  });
}
