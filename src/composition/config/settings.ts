import { availableParallelism } from "node:os";
import { defaultWireAddress, parseWireAddress, type WireAddress } from "../../edge/wire/address.ts";
import { wireLimits } from "../../edge/wire/limits.ts";
import { defaultCollectionSettings } from "../../engine/collection/settings.ts";
import {
  defaultInstanceSettings,
  type PushSettings,
  parseInstanceName,
  parseMinAppVersions,
  parsePush,
} from "../../engine/instance/settings.ts";
import { defaultSqlSettings } from "../../engine/sql/settings.ts";
import { type Address, parseAddress } from "../../listener/address.ts";
import { listenerLimits } from "../../listener/limits.ts";
import { clusterSettingsTable } from "./cluster.ts";
import { liveSettingsTable } from "./live.ts";
import { durationWithin, json, nonEmpty, oneOf, origins, parseDuration, url, wholeNumber } from "./values.ts";

/** One typed value, parsed once: flags over environment over file over defaults. */
export interface Setting<T> {
  /** `--flag`; the same name is the key in the configuration file. Secrets have none: flags show in process lists. */
  readonly flag?: string;
  readonly env: string;
  readonly help: string;
  readonly value: string;
  readonly fallback: T;
  readonly parse: (text: string, field: string) => T;
}

function setting<T>(spec: Setting<T>): Setting<T> {
  return spec;
}

export const settings = {
  listen: setting<Address>({
    flag: "listen",
    env: "SERVICE_LISTEN",
    value: "HOST:PORT",
    help: "address of the native port, 127.0.0.1:8080 unless set",
    fallback: { host: "127.0.0.1", port: 8080 },
    parse: (text, field) => parseAddress(text, field),
  }),
  postgresListen: setting<WireAddress>({
    flag: "postgres-listen",
    env: "SERVICE_POSTGRES_LISTEN",
    value: "HOST:PORT|off",
    help: "address of the Postgres wire, 127.0.0.1:15432 unless set",
    fallback: defaultWireAddress(15_432),
    parse: parseWireAddress,
  }),
  mysqlListen: setting<WireAddress>({
    flag: "mysql-listen",
    env: "SERVICE_MYSQL_LISTEN",
    value: "HOST:PORT|off",
    help: "address of the MySQL wire, 127.0.0.1:13306 unless set",
    fallback: defaultWireAddress(13_306),
    parse: parseWireAddress,
  }),
  liveListen: setting<WireAddress>({
    flag: "live-listen",
    env: "SERVICE_LIVE_LISTEN",
    value: "HOST:PORT|off",
    help: "address of the Live engine, 127.0.0.1:7710 unless set",
    fallback: defaultWireAddress(7_710),
    parse: parseWireAddress,
  }),
  ...liveSettingsTable,
  liveEngine: setting<"v8" | "quickjs">({
    flag: "live-engine",
    env: "SERVICE_LIVE_ENGINE",
    value: "v8|quickjs",
    help: "the sandbox of live functions: V8 isolates, or QuickJS in WebAssembly (slower)",
    fallback: "v8",
    parse: oneOf("v8", "quickjs"),
  }),
  wireConnectionsMax: setting<number>({
    flag: "wire-connections-max",
    env: "SERVICE_WIRE_CONNECTIONS_MAX",
    value: "NUMBER",
    help: "maximum number of open connections to each SQL wire",
    fallback: wireLimits.connectionsMax,
    parse: wholeNumber(1, 100_000),
  }),
  dataDir: setting<string>({
    flag: "data-dir",
    env: "SERVICE_DATA_DIR",
    value: "FOLDER",
    help: "the data directory, ./data unless set",
    fallback: "./data",
    parse: nonEmpty,
  }),
  mode: setting<"development" | "production">({
    flag: "mode",
    env: "SERVICE_RUN_MODE",
    value: "development|production",
    help: "development serves gRPC reflection, and prints readable logs on a terminal",
    fallback: "production",
    parse: oneOf("development", "production"),
  }),
  dedupWindowMs: setting<number>({
    flag: "cloudevents-dedup-window",
    env: "SERVICE_CLOUDEVENTS_DEDUP_WINDOW",
    value: "DURATION",
    help: "how long a CloudEvent's source and id are remembered, for example 30s, 15m, 1h, 7d",
    fallback: 3_600_000,
    parse: parseDuration,
  }),
  collectionTailRecordsMax: setting<number>({
    flag: "collection-tail-records-max",
    env: "SERVICE_COLLECTION_TAIL_RECORDS_MAX",
    value: "NUMBER",
    help: "changes that may wait to be indexed in a collection; beyond that, writes are refused with 429",
    fallback: defaultCollectionSettings.tailRecordsMax,
    parse: wholeNumber(1, 1_000_000_000),
  }),
  collectionTailBytesMax: setting<number>({
    flag: "collection-tail-bytes-max",
    env: "SERVICE_COLLECTION_TAIL_BYTES_MAX",
    value: "BYTES",
    help: "the same in bytes",
    fallback: defaultCollectionSettings.tailBytesMax,
    parse: wholeNumber(1, 2 ** 40),
  }),
  collectionSealRecords: setting<number>({
    flag: "collection-seal-records",
    env: "SERVICE_COLLECTION_SEAL_RECORDS",
    value: "NUMBER",
    help: "number of changes after which a collection's tail is sealed into a segment",
    fallback: defaultCollectionSettings.sealRecords,
    parse: wholeNumber(1, 1_000_000),
  }),
  collectionSealIdleMs: setting<number>({
    flag: "collection-seal-idle",
    env: "SERVICE_COLLECTION_SEAL_IDLE",
    value: "DURATION",
    help: "time without a write after which a smaller tail is sealed",
    fallback: defaultCollectionSettings.sealIdleMs,
    parse: parseDuration,
  }),
  sqlTimeMs: setting<number>({
    flag: "sql-time",
    env: "SERVICE_SQL_TIME",
    value: "DURATION",
    help: "time limit of a SQL statement",
    fallback: defaultSqlSettings.timeMs,
    parse: parseDuration,
  }),
  sqlMemoryBytes: setting<number>({
    flag: "sql-memory-bytes",
    env: "SERVICE_SQL_MEMORY_BYTES",
    value: "BYTES",
    help: "memory limit of a namespace's SQL tables and statements together",
    fallback: defaultSqlSettings.memoryBytes,
    parse: wholeNumber(16 * 1024 * 1024, 2 ** 44),
  }),
  sqlThreads: setting<number>({
    flag: "sql-threads",
    env: "SERVICE_SQL_THREADS",
    value: "NUMBER",
    help: "threads for the SQL statements of a namespace",
    fallback: defaultSqlSettings.threads,
    parse: wholeNumber(1, 256),
  }),
  sqlProcesses: setting<number>({
    flag: "sql-processes",
    env: "SERVICE_SQL_PROCESSES",
    value: "NUMBER",
    help: "processes that run SQL statements; with more namespaces than processes, some share one",
    fallback: defaultSqlSettings.processesMax,
    parse: wholeNumber(1, 16),
  }),
  sqlRunningMax: setting<number>({
    flag: "sql-running-max",
    env: "SERVICE_SQL_RUNNING_MAX",
    value: "NUMBER",
    help: "SQL statements that run at the same time; others wait",
    fallback: defaultSqlSettings.runningMax,
    parse: wholeNumber(1, 64),
  }),
  sqlWaitingMax: setting<number>({
    flag: "sql-waiting-max",
    env: "SERVICE_SQL_WAITING_MAX",
    value: "NUMBER",
    help: "SQL statements that may wait; beyond that, they are refused with 429",
    fallback: defaultSqlSettings.waitingMax,
    parse: wholeNumber(0, 100_000),
  }),
  sqlRowsMax: setting<number>({
    flag: "sql-rows-max",
    env: "SERVICE_SQL_ROWS_MAX",
    value: "NUMBER",
    help: "maximum number of rows of a SQL result",
    fallback: defaultSqlSettings.rowsMax,
    parse: wholeNumber(1, 1_000_000_000_000),
  }),
  sqlStreamBytes: setting<number>({
    flag: "sql-stream-bytes",
    env: "SERVICE_SQL_STREAM_BYTES",
    value: "BYTES",
    help: "bytes that a SQL statement may read from streams",
    fallback: defaultSqlSettings.streamBytesMax,
    parse: wholeNumber(1, 2 ** 40),
  }),
  collectionSealAgeMs: setting<number>({
    flag: "collection-seal-age",
    env: "SERVICE_COLLECTION_SEAL_AGE",
    value: "DURATION",
    help: "age of the oldest change after which the tail is sealed even while writes continue",
    fallback: defaultCollectionSettings.sealAgeMs,
    parse: parseDuration,
  }),
  searchThreads: setting<number>({
    flag: "search-threads",
    env: "SERVICE_SEARCH_THREADS",
    value: "NUMBER",
    help: "threads that search collections; unless set, one for each core, at most 16",
    fallback: Math.min(16, availableParallelism()),
    parse: wholeNumber(1, 64),
  }),
  ...clusterSettingsTable,
  tlsCertFile: setting<string | undefined>({
    flag: "tls-cert-file",
    env: "SERVICE_TLS_CERT_FILE",
    value: "FILE",
    help: "certificate chain in PEM; together with the key it turns TLS on",
    fallback: undefined,
    parse: nonEmpty,
  }),
  tlsKeyFile: setting<string | undefined>({
    flag: "tls-key-file",
    env: "SERVICE_TLS_KEY_FILE",
    value: "FILE",
    help: "private key in PEM",
    fallback: undefined,
    parse: nonEmpty,
  }),
  tlsNextCertFile: setting<string | undefined>({
    flag: "tls-next-cert-file",
    env: "SERVICE_TLS_NEXT_CERT_FILE",
    value: "FILE",
    help: "the next certificate, announced to clients in tlsPins; the file may be added later",
    fallback: undefined,
    parse: nonEmpty,
  }),
  tlsPins: setting<"auto" | "on" | "off">({
    flag: "tls-pins",
    env: "SERVICE_TLS_PINS",
    value: "auto|on|off",
    help: "whether GetInstance lists the TLS keys; auto: if the certificate is from a private authority",
    fallback: "auto",
    parse: oneOf("auto", "on", "off"),
  }),
  tlsCheckMs: setting<number>({
    flag: "tls-check-interval",
    env: "SERVICE_TLS_CHECK_INTERVAL",
    value: "DURATION",
    help: "how often the certificate files are checked for changes",
    fallback: listenerLimits.certificateCheckMs,
    parse: durationWithin("10ms", "1d"),
  }),
  publicUrl: setting<string | undefined>({
    flag: "public-url",
    env: "SERVICE_PUBLIC_URL",
    value: "URL",
    help: "the address at which clients reach the server; unless set, the address of each request",
    fallback: undefined,
    parse: url,
  }),
  corsOrigins: setting<readonly string[]>({
    flag: "cors-origins",
    env: "SERVICE_CORS_ORIGINS",
    value: "ORIGIN,…",
    help: "origins whose web pages may call the server",
    fallback: [],
    parse: origins,
  }),
  houseUrl: setting<string | undefined>({
    flag: "house-url",
    env: "SERVICE_HOUSE_URL",
    value: "URL",
    help: "front end to which calls of service.house are forwarded",
    fallback: undefined,
    parse: url,
  }),
  instanceName: setting<string>({
    flag: "instance-name",
    env: "SERVICE_INSTANCE_NAME",
    value: "TEXT",
    help: "the name that clients show",
    fallback: defaultInstanceSettings.name,
    parse: (text, field) => parseInstanceName(field, text),
  }),
  push: setting<PushSettings | undefined>({
    flag: "push",
    env: "SERVICE_PUSH",
    value: "JSON",
    help: "push to phones: gatewayUrl, appIds with ios and android, unifiedpush",
    fallback: undefined,
    parse: (text, field) => parsePush(field, json(text, field)),
  }),
  minAppVersions: setting<Readonly<Record<string, string>>>({
    flag: "min-app-versions",
    env: "SERVICE_MIN_APP_VERSIONS",
    value: "JSON",
    help: "the oldest app versions that may connect: ios, android, desktop",
    fallback: {},
    parse: (text, field) => parseMinAppVersions(field, json(text, field)),
  }),
  logLevel: setting<LogLevel>({
    flag: "log-level",
    env: "SERVICE_LOG_LEVEL",
    value: "LEVEL",
    help: "trace, debug (with every request), info, warn, error, fatal or silent",
    fallback: "info",
    parse: oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"),
  }),
  connectionsMax: setting<number>({
    flag: "connections-max",
    env: "SERVICE_CONNECTIONS_MAX",
    value: "NUMBER",
    help: "maximum number of open connections",
    fallback: 20_000,
    parse: wholeNumber(1, 1_000_000),
  }),
  drainTimeoutMs: setting<number>({
    flag: "drain-timeout",
    env: "SERVICE_DRAIN_TIMEOUT",
    value: "DURATION",
    help: "how long requests in flight may take after SIGTERM",
    fallback: 30_000,
    // A timer of the runtime that is set for more than 24 days is over at once.
    parse: durationWithin("0ms", "7d"),
  }),
} as const;

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
