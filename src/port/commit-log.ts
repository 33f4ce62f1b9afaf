import type { Bytes } from "./store.ts";

/** One commit: everything that it changes, as `commit-entry.ts` writes it. */
export interface LogEntry {
  readonly position: number;
  readonly bytes: Bytes;
}

/**
 * The write-ahead log behind the store: what is in it has happened. Positions are consecutive and start at 1. There is one writer.
 *
 * Failures are a StoreError: `full`, `damaged` or `failed`.
 */
export interface CommitLog {
  /** Tells this log from any other. The store remembers it, so that the two are never mixed up. */
  readonly id: string;
  /** The first position that can still be read; the same as `end` while there is nothing. */
  readonly start: number;
  /** The position that the next entry will get. */
  readonly end: number;
  /** What it takes on its device, room to reuse included. */
  readonly diskBytes: number;
  /**
   * Resolves with the entry's position once it would survive a power cut, and every entry before it too. A rejection means that the entry is
   * not in the log and never will be; while that is not certain the promise stays open. The bytes must not change meanwhile.
   */
  append(bytes: Bytes): Promise<number>;
  /** The entries from a position up to the end as it was at the call. The bytes are good until the next entry is asked for. */
  read(from: number): AsyncIterable<LogEntry>;
  /** Entries before a position are no longer needed. They may stay readable for a while. */
  trim(before: number): void;
  /** What the log must be told to go on after a position, where that alone is not enough. The store keeps it with what it has applied. */
  cursorAfter?(position: number): unknown;
  /** Waits for what is under way. */
  close(): Promise<void>;
}
