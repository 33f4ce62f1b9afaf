import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import type { CommitGroup } from "../../../engine/commit/committer.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { StoreStats } from "../../../port/store.ts";
import { observeEngine } from "./engine.ts";
import { Latencies, type LatencyRow } from "./latencies.ts";
import { readGauge } from "./scrape.ts";
import { WireMetrics } from "./wires.ts";

const latencySeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** Counts for one route and status, bound once: looking labels up on each request would cost more than counting. */
interface RouteCounts {
  readonly requests: Counter.Internal;
  readonly seconds: LatencyRow;
}

/** What is shown of the listener. */
export interface ListenerGauges {
  readonly connections: number;
  readonly inFlight: number;
}

/** The same for one RPC and its outcome. */
interface CallCounts {
  readonly calls: Counter.Internal;
  readonly seconds: Histogram.Internal<"method">;
}

export class Metrics {
  readonly registry = new Registry();
  readonly wires = new WireMetrics(this.registry, latencySeconds);
  readonly #requests: Counter<"route" | "method" | "status">;
  readonly #seconds: Latencies;
  readonly #rows = new Map<string, LatencyRow>();
  readonly #bound = new Map<string, RouteCounts>();
  readonly #calls: Counter<"method" | "code">;
  readonly #callSeconds: Histogram<"method">;
  readonly #boundCalls = new Map<string, CallCounts>();
  readonly #statements: Counter<"outcome">;
  readonly #statementSeconds: Histogram;
  readonly #syncSeconds: Histogram;
  readonly #groupChanges: Histogram;
  readonly #groupBytes: Histogram;
  readonly #syncFailures: Counter;
  readonly #querySeconds: Latencies;
  readonly #queryRows = new Map<string, LatencyRow>();

  constructor() {
    const registers = [this.registry];
    const histogram = (name: string, help: string, buckets: number[]) =>
      new Histogram({ name: `service_${name}`, help, buckets, registers });
    collectDefaultMetrics({ register: this.registry });
    // Gauges that are named as counters; each has one by type besides.
    for (const what of ["handles", "requests", "resources"]) {
      this.registry.removeSingleMetric(`nodejs_active_${what}_total`);
    }
    this.#requests = new Counter({
      name: "service_http_requests_total",
      help: "Requests answered, by route, method and status",
      labelNames: ["route", "method", "status"],
      registers,
    });
    this.#seconds = new Latencies(
      "service_http_request_seconds",
      "Time from a request's head to its answer's end, by route",
      latencySeconds,
      this.registry,
    );
    this.#querySeconds = new Latencies(
      "service_query_seconds",
      "Time of one query, by what it looks by: vector, text, sparse, hybrid or filter alone",
      latencySeconds,
      this.registry,
    );
    this.#calls = new Counter({
      name: "service_rpc_requests_total",
      help: "RPCs answered, by method and Connect code",
      labelNames: ["method", "code"],
      registers,
    });
    this.#callSeconds = new Histogram({
      name: "service_rpc_request_seconds",
      help: "Time from a call's head to its answer's end, by method; of a stream its whole life",
      labelNames: ["method"],
      buckets: latencySeconds,
      registers,
    });
    this.#statements = new Counter({
      name: "service_sql_statements_total",
      help: "SQL statements of all wires, by outcome: ok or what went wrong",
      labelNames: ["outcome"],
      registers,
    });
    this.#statementSeconds = histogram(
      "sql_statement_seconds",
      "Time from a SQL statement to its last row, the reader's included",
      latencySeconds,
    );
    this.#syncSeconds = histogram("log_sync_seconds", "Time of one group commit, its sync included", latencySeconds);
    this.#groupChanges = histogram(
      "log_group_changes",
      "Writes that shared one group commit",
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024],
    );
    this.#groupBytes = histogram(
      "log_group_bytes",
      "Bytes written by one group commit",
      [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 33_554_432],
    );
    this.#syncFailures = new Counter({
      name: "service_log_sync_failures_total",
      help: "Group commits that failed",
      registers,
    });
  }

  onQuery(kind: string, ms: number): void {
    let row = this.#queryRows.get(kind);
    if (row === undefined) {
      row = this.#querySeconds.row({ kind });
      this.#queryRows.set(kind, row);
    }
    row.observe(ms / 1000);
  }

  onStatement(outcome: string, ms: number): void {
    this.#statements.inc({ outcome });
    this.#statementSeconds.observe(ms / 1000);
  }

  /** Adds what is read from the engine at each scrape. */
  observe(engine: Engine, dataDir: string, storeStats: () => StoreStats, listener: ListenerGauges): void {
    const registers = [this.registry];
    observeEngine(this.registry, engine, dataDir);
    const gauges: readonly (readonly [string, string, () => number])[] = [
      ["store_disk_bytes", "Size of the store on disk, space to reuse included", () => storeStats().diskBytes],
      ["store_entries", "Entries in the store: record batches, names, keys", () => storeStats().entries],
      [
        "store_overlay_bytes",
        "Commits in memory that the store's tree does not hold yet",
        () => storeStats().overlayBytes ?? 0,
      ],
      [
        "store_held_bytes",
        "Commits in memory that the store's tree holds by now, kept for readers of a snapshot",
        () => storeStats().heldBytes ?? 0,
      ],
      [
        "commit_log_bytes",
        "Size of the commit log on disk, segments to reuse included",
        () => storeStats().logBytes ?? 0,
      ],
      ["connections", "Open connections", () => listener.connections],
      ["requests_in_flight", "Requests whose answer is not complete, this one included", () => listener.inFlight],
    ];
    for (const [name, help, read] of gauges) readGauge(registers, `service_${name}`, help, read);
  }

  onCommitGroup(group: CommitGroup): void {
    if (group.ops === 0) return;
    this.#syncSeconds.observe(group.ms / 1000);
    this.#groupChanges.observe(group.changes);
    this.#groupBytes.observe(group.bytes);
    if (group.failed) this.#syncFailures.inc();
  }

  onRequest(route: string, method: string, status: number, ms: number): void {
    const key = `${status} ${method} ${route}`;
    let counts = this.#bound.get(key);
    if (counts === undefined) {
      counts = this.#bind(route, method, status);
      this.#bound.set(key, counts);
    }
    counts.requests.inc();
    counts.seconds.observe(ms / 1000);
  }

  /** The same for one route, without making a key for each request. */
  counterOf(route: string, method: string): (status: number, ms: number) => void {
    const bound = new Map<number, RouteCounts>();
    return (status, ms) => {
      let counts = bound.get(status);
      if (counts === undefined) {
        counts = this.#bind(route, method, status);
        bound.set(status, counts);
      }
      counts.requests.inc();
      counts.seconds.observe(ms / 1000);
    };
  }

  #bind(route: string, method: string, status: number): RouteCounts {
    return {
      requests: this.#requests.labels({ route, method, status: String(status) }),
      seconds: this.#rowOf(route, method),
    };
  }

  #rowOf(route: string, method: string): LatencyRow {
    const key = `${method} ${route}`;
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = this.#seconds.row({ route, method });
    this.#rows.set(key, row);
    return row;
  }

  onCall(method: string, code: string, ms: number): void {
    const key = `${code} ${method}`;
    let counts = this.#boundCalls.get(key);
    if (counts === undefined) {
      counts = { calls: this.#calls.labels({ method, code }), seconds: this.#callSeconds.labels({ method }) };
      this.#boundCalls.set(key, counts);
    }
    counts.calls.inc();
    counts.seconds.observe(ms / 1000);
  }
}
