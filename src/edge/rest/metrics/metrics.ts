import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { CommitGroup } from "../../../engine/commit/committer.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { StoreStats } from "../../../port/store.ts";
import { observeEngine } from "./engine.ts";
import { Latencies, type LatencyRow } from "./latencies.ts";
import { observeProcesses } from "./processes.ts";
import { WireMetrics } from "./wires.ts";

/** Watermarks are reported for at most this many partitions, so that a scrape stays small. */
const partitionsMax = 1_000;
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
    this.#statementSeconds = new Histogram({
      name: "service_sql_statement_seconds",
      help: "Time from a SQL statement to its last row, the reader's included",
      buckets: latencySeconds,
      registers,
    });
    this.#syncSeconds = new Histogram({
      name: "service_log_sync_seconds",
      help: "Time of one group commit, its sync included",
      buckets: latencySeconds,
      registers,
    });
    this.#groupChanges = new Histogram({
      name: "service_log_group_changes",
      help: "Writes that shared one group commit",
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024],
      registers,
    });
    this.#groupBytes = new Histogram({
      name: "service_log_group_bytes",
      help: "Bytes written by one group commit",
      buckets: [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 33_554_432],
      registers,
    });
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
    const labelNames = ["stream", "partition"] as const;
    new Gauge({
      name: "service_log_high_watermark",
      help: `Offset of the next record, for up to ${partitionsMax} partitions in use`,
      labelNames,
      registers,
      collect() {
        this.reset();
        let left = partitionsMax;
        for (const { stream, partition, durableNext } of engine.log.loadedPartitions()) {
          if (left-- === 0) return;
          this.set({ stream: String(stream), partition: String(partition) }, durableNext);
        }
      },
    });
    for (const [name, help] of [
      ["running", "SQL statements that work"],
      ["waiting", "SQL statements that are queued"],
      ["open", "SQL statements that work or whose rows are still read"],
    ] as const) {
      new Gauge({
        name: `service_sql_${name}`,
        help,
        registers,
        collect() {
          this.set(engine.sql.load[name]);
        },
      });
    }
    observeProcesses(registers, () => engine.sql.processes);
    for (const [name, help] of [
      ["sessions", "Open sessions of the Live engine"],
      ["running", "Live functions that run"],
      ["waiting", "Live functions that wait for a runner"],
    ] as const) {
      new Gauge({
        name: `service_live_${name}`,
        help,
        registers,
        collect() {
          this.set(engine.live.stats[name]);
        },
      });
    }
    new Gauge({
      name: "service_link_lag_records",
      help: "Records that a link has not applied yet",
      labelNames: ["namespace", "link"],
      registers,
      collect() {
        this.reset();
        let left = partitionsMax;
        for (const { link, records } of engine.links.lags()) {
          if (left-- === 0) return;
          this.set({ namespace: link.namespace, link: link.name }, records);
        }
      },
    });
    new Counter({
      name: "service_link_records_total",
      help: "Records applied by all links",
      registers,
      collect() {
        this.reset();
        this.inc(engine.links.appliedRecords);
      },
    });
    new Gauge({
      name: "service_log_queue_bytes",
      help: "Bytes that wait for the log's sync",
      registers,
      collect() {
        this.set(engine.committer.queuedBytes);
      },
    });
    new Gauge({
      name: "service_store_disk_bytes",
      help: "Size of the store on disk, space to reuse included",
      registers,
      collect() {
        this.set(storeStats().diskBytes);
      },
    });
    new Gauge({
      name: "service_store_entries",
      help: "Entries in the store: record batches, names, keys",
      registers,
      collect() {
        this.set(storeStats().entries);
      },
    });
    new Gauge({
      name: "service_store_overlay_bytes",
      help: "Commits in memory that the store's tree does not hold yet",
      registers,
      collect() {
        this.set(storeStats().overlayBytes ?? 0);
      },
    });
    new Gauge({
      name: "service_commit_log_bytes",
      help: "Size of the commit log on disk, segments to reuse included",
      registers,
      collect() {
        this.set(storeStats().logBytes ?? 0);
      },
    });
    new Gauge({
      name: "service_connections",
      help: "Open connections",
      registers,
      collect() {
        this.set(listener.connections);
      },
    });
    new Gauge({
      name: "service_requests_in_flight",
      help: "Requests whose answer is not complete, this one included",
      registers,
      collect() {
        this.set(listener.inFlight);
      },
    });
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
