const KiB = 1024;
const MiB = 1024 * KiB;

/** Every bound of the Live engine, each a setting. */
export interface LiveSettings {
  /** How far back `at` may lie. */
  readonly historyMs: number;
  readonly heartbeatMs: number;
  readonly sessionsMax: number;
  readonly sessionQueriesMax: number;
  /** Processor time of one run of a function. */
  readonly runCpuMs: number;
  readonly runHeapBytes: number;
  readonly readBytesMax: number;
  readonly writtenBytesMax: number;
  readonly documentsReadMax: number;
  readonly documentsWrittenMax: number;
  readonly rangesMax: number;
  readonly documentBytesMax: number;
  readonly indexesMax: number;
  readonly indexFieldsMax: number;
  /** Processes that run functions. */
  readonly runners: number;
}

export const defaultLiveSettings: LiveSettings = {
  historyMs: 3_600_000,
  heartbeatMs: 15_000,
  sessionsMax: 10_000,
  sessionQueriesMax: 1_000,
  runCpuMs: 1_000,
  runHeapBytes: 64 * MiB,
  readBytesMax: 16 * MiB,
  writtenBytesMax: 16 * MiB,
  documentsReadMax: 32_000,
  documentsWrittenMax: 16_000,
  rangesMax: 4_096,
  documentBytesMax: 1 * MiB,
  indexesMax: 32,
  indexFieldsMax: 16,
  runners: 2,
};

/** Bounds that nobody has to set. */
export const liveLimits = {
  tablesMax: 1_000,
  tableFieldsMax: 1_000,
  valueDepthMax: 32,
  /** What the fields of one index entry take together. The store's keys are bounded. */
  indexKeyBytesMax: 1_024,
  /** Keys that one count walks. */
  countKeysMax: 1_000_000,
  /** Write sets of commits kept to check runs that began before them for conflicts. */
  recentCommitsMax: 4_096,
  /** Commits that are decided and not durable yet. */
  pendingCommitsMax: 4_096,
  /** Conflicts after which a mutation runs alone. */
  conflictsMax: 3,
  modulesMax: 1_000,
  bundleBytesMax: 8 * MiB,
  /** What a function may give back, as JSON. */
  resultCharactersMax: 16 * MiB,
  /** Mutations and queries of one namespace that wait or run at a time. */
  callsMax: 10_000,
  /** Lists of history that one background step frees. */
  collectStepMax: 256,
} as const;
