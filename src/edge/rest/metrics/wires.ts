import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { OnStatement } from "../../wire/measured-sql.ts";

export type WireName = "flight" | "postgres" | "mysql";

/** What is shown of a listener: how many connections stand, and what became of all that came. */
export interface ConnectionCounts {
  readonly connections: number;
  readonly counters: Readonly<Record<string, number>> | object;
}

/** Statements, errors and connections of the SQL wires, and connections of the main port. */
export class WireMetrics {
  readonly #registry: Registry;
  readonly #statements: Counter<"wire" | "outcome">;
  readonly #seconds: Histogram<"wire">;
  readonly #errors: Counter<"wire" | "code">;

  constructor(registry: Registry, latencySeconds: number[]) {
    this.#registry = registry;
    const registers = [registry];
    this.#statements = new Counter({
      name: "service_wire_statements_total",
      help: "SQL statements that a wire had the engine run, by outcome: ok or what went wrong",
      labelNames: ["wire", "outcome"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "service_wire_statement_seconds",
      help: "Time from a wire's statement to its last row, the reader's included",
      labelNames: ["wire"],
      buckets: latencySeconds,
      registers,
    });
    this.#errors = new Counter({
      name: "service_wire_errors_total",
      help: "Errors that a wire told its clients, by SQLSTATE (Postgres) or error number (MySQL)",
      labelNames: ["wire", "code"],
      registers,
    });
  }

  statementsOf(wire: WireName): OnStatement {
    const seconds = this.#seconds.labels({ wire });
    return (outcome, ms) => {
      this.#statements.inc({ wire, outcome });
      seconds.observe(ms / 1000);
    };
  }

  errorsOf(wire: WireName): (code: string | number) => void {
    return (code) => this.#errors.inc({ wire, code: String(code) });
  }

  /** Adds what is read from the listeners at each scrape; one that is off is not there. */
  observe(listeners: Readonly<Record<string, ConnectionCounts | undefined>>): void {
    const registers = [this.#registry];
    const shown = Object.entries(listeners).flatMap(([wire, counts]) =>
      counts === undefined ? [] : [{ wire, counts }],
    );
    new Gauge({
      name: "service_wire_connections",
      help: "Open connections, by listener",
      labelNames: ["wire"],
      registers,
      collect() {
        for (const { wire, counts } of shown) this.set({ wire }, counts.connections);
      },
    });
    new Counter({
      name: "service_wire_connections_total",
      help: "Connections by listener and what became of them: accepted, refused for their number, cut off and why",
      labelNames: ["wire", "event"],
      registers,
      collect() {
        this.reset();
        for (const { wire, counts } of shown) {
          for (const [name, count] of Object.entries(counts.counters))
            this.inc({ wire, event: snake(name) }, Number(count));
        }
      },
    });
  }
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
