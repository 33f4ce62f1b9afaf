/** What statements may use; each passed limit is an error that names it. */
export interface SqlSettings {
  /** Time a statement may work; waiting for its reader is no work. */
  readonly timeMs: number;
  /** Memory of one namespace's tables and statements together. */
  readonly memoryBytes: number;
  /** Threads of one namespace's database. */
  readonly threads: number;
  /** Statements that work at once; more wait in the queue, */
  readonly runningMax: number;
  /** and no more than this wait. */
  readonly waitingMax: number;
  /** How long one waits in the queue. */
  readonly waitMs: number;
  /** Statements whose rows are still being read. */
  readonly openMax: number;
  /** Rows of one result. */
  readonly rowsMax: number;
  /** What one statement reads of streams. */
  readonly streamBytesMax: number;
  /** Namespaces whose tables one process keeps; the least recently used go. */
  readonly namespacesMax: number;
  /** Processes of statements, */
  readonly processesMax: number;
  /** what each takes besides the memory of its tables and statements, */
  readonly processBytesMax: number;
  /** and how long a statement that is told to stop may go on before its process is ended. */
  readonly graceMs: number;
}

const MiB = 1024 * 1024;

export const defaultSqlSettings: SqlSettings = {
  timeMs: 30_000,
  memoryBytes: 1024 * MiB,
  threads: 2,
  runningMax: 2,
  waitingMax: 200,
  waitMs: 10_000,
  openMax: 500,
  rowsMax: 100_000_000,
  streamBytesMax: 256 * MiB,
  namespacesMax: 1,
  processesMax: 4,
  processBytesMax: 512 * MiB,
  graceMs: 2_000,
};
