import type { Bytes } from "./store.ts";

export interface SharedRecord {
  readonly offset: number;
  readonly bytes: Bytes;
}

export interface SharedRecords {
  readonly records: readonly SharedRecord[];
  /** Where to go on reading: after the last record. */
  readonly next: number;
  /** The offset after everything that was durable at the time of the answer. */
  readonly end: number;
}

/**
 * A log to which several processes append, and which all of them read in one order: a partition of Kafka. Offsets grow and are never
 * given twice, but not every offset need have a record.
 */
export interface SharedLog {
  /** Tells this log from any other. */
  readonly id: string;
  /** The largest record that it takes. */
  readonly recordBytesMax: number;
  /**
   * Resolves with the record's offset once it is durable. A rejection tells nothing: the record may be in the log, come into it later, or
   * never be there. So may a second copy of it.
   */
  append(bytes: Bytes): Promise<number>;
  /**
   * Records from an offset on. Where there are none yet, it waits for one, at most so long. Rejects with a StoreError `damaged` where the
   * offset is no longer in the log.
   */
  read(from: number, waitMs: number, signal?: AbortSignal): Promise<SharedRecords>;
  /** The first offset that can still be read, and the one after the last. */
  bounds(): Promise<{ readonly start: number; readonly end: number }>;
  /** Records before an offset are no longer needed. */
  trim(before: number): Promise<void>;
  close(): Promise<void>;
}
