import { Counter, Gauge, type Registry } from "prom-client";
import type { ChildrenStats } from "../../../port/children.ts";

/** What the processes of SQL statements take, read at each scrape. */
export function observeProcesses(registers: Registry[], stats: () => ChildrenStats): void {
  new Gauge({
    name: "service_sql_processes",
    help: "Processes of SQL statements: running ones, and the spare that is warm",
    labelNames: ["state"] as const,
    registers,
    collect() {
      const { running, spare } = stats();
      this.set({ state: "running" }, running);
      this.set({ state: "spare" }, spare);
    },
  });
  new Gauge({
    name: "service_sql_process_resident_bytes",
    help: "Memory of all processes of SQL statements",
    registers,
    collect() {
      this.set(stats().residentBytes);
    },
  });
  new Counter({
    name: "service_sql_processes_lost_total",
    help: "Processes of SQL statements that were lost: crashed, late to answer, or too large",
    labelNames: ["why"] as const,
    registers,
    collect() {
      this.reset();
      const { lost } = stats();
      for (const why of ["crashed", "late", "memory"] as const) this.inc({ why }, lost[why]);
    },
  });
}
