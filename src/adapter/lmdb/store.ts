import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import {
  type Bytes,
  type Entry,
  type Range,
  type Snapshot,
  type Store,
  StoreError,
  type StoreStats,
  type WriteOp,
} from "../../port/store.ts";
import { commitCause, commitError, hasRoom, openError, text } from "./error.ts";
import { makeFile, syncNames } from "./new-file.ts";
import { checkPages, everyPage, PageDamage } from "./pages.ts";
import { type Database, LmdbReader, LmdbSnapshot } from "./reader.ts";
import { reserveReaderTable } from "./reader-table.ts";
import { SharedView } from "./shared-view.ts";
import { ShutdownMarker } from "./shutdown-marker.ts";

const fileName = "data.mdb";
/**
 * Addresses, not memory. The library maps a file that outgrows its map anew and keeps the maps before it, each with
 * the pages that were read through it; a larger store than this still grows.
 */
const mapBytes = 16 * 1024 ** 3;
/**
 * Pages looked at before the file is opened: the top ones always, which is all of a small store; more after an
 * unclean end or a change from outside, but for a second at most; all of them after a second unclean end in a row.
 */
const pagesChecked = {
  clean: { pages: 500, morePages: 0, moreMs: 0 },
  unclean: { pages: 500, morePages: 50_000, moreMs: 1000 },
  again: everyPage,
} as const;

export interface LmdbStoreOptions {
  /** No other process opens this store: its file is looked at before it is trusted, and how it is left is kept. */
  readonly exclusive?: boolean;
  /** Called once when LMDB gives up for good: every later read and write fails until the process starts anew. */
  readonly onFatal?: (error: StoreError) => void;
  /**
   * Other processes write to this store too. LMDB keeps one read transaction for a turn of the event loop, which
   * hides their commits from it; a shared store takes a fresh one for every read.
   */
  readonly shared?: boolean;
}

/**
 * The default store. Writes run on LMDB's own thread: a batch's pages are synced, then its meta page, before the
 * promise resolves (`overlappingSync` off). Reads come from the memory map, on the caller's thread.
 */
export class LmdbStore implements Store {
  readonly #db: Database;
  readonly #file: string;
  readonly #reader: LmdbReader;
  readonly #shared: boolean;
  readonly #view: SharedView | undefined;
  readonly #marker: ShutdownMarker | undefined;
  readonly #onFatal: ((error: StoreError) => void) | undefined;
  #fatal: StoreError | undefined;

  constructor(directory: string, options: LmdbStoreOptions = {}) {
    this.#shared = options.shared === true;
    mkdirSync(directory, { recursive: true });
    this.#file = join(directory, fileName);
    this.#onFatal = options.onFatal;
    this.#marker = options.exclusive === true ? new ShutdownMarker(directory, this.#file) : undefined;
    const existing = this.#marker !== undefined && inspect(this.#file, this.#marker);
    // Before the file is mapped: should that end the process, the next start must look closer.
    if (existing) this.#marker?.opened();
    if (options.exclusive === true) reserveReaderTable(`${this.#file}-lock`);
    try {
      if (isEmpty(this.#file)) makeFile(this.#file, (path) => void openFile(path).close());
      this.#db = openFile(this.#file);
      if (options.exclusive === true || this.#shared) syncNames(directory);
    } catch (cause) {
      throw openError(this.#file, cause);
    }
    this.#reader = new LmdbReader(this.#db, undefined);
    this.#view = this.#shared ? new SharedView(this.#db) : undefined;
    if (!existing) this.#marker?.opened();
  }

  get(key: Bytes): Bytes | undefined {
    return this.#view === undefined ? this.#reader.get(key) : this.#view.get(key);
  }

  peek(key: Bytes): Bytes | undefined {
    this.#refresh();
    return this.#reader.peek(key);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    this.#refresh();
    return this.#reader.head(key, bytesMax);
  }

  range(range: Range): Iterable<Entry> {
    this.#refresh();
    return this.#reader.range(range);
  }

  borrow(range: Range): Iterable<Entry> {
    this.#refresh();
    return this.#reader.borrow(range);
  }

  keys(range: Range): Iterable<Bytes> {
    this.#refresh();
    return this.#reader.keys(range);
  }

  async commit(ops: readonly WriteOp[]): Promise<void> {
    if (ops.length === 0) return;
    if (this.#fatal !== undefined) throw this.#fatal;
    const db = this.#db;
    const bytes = bytesOf(ops);
    if (!hasRoom(this.#file, bytes)) {
      throw new StoreError("full", "the disk has no room for the write");
    }
    try {
      // Within a batch a write's own promise is settled already; the batch's tells of them all.
      await db.batch(() => {
        for (const op of ops) {
          if (op.kind === "put") db.put(op.key as Buffer, op.value as Buffer);
          else db.remove(op.key as Buffer);
        }
      });
    } catch (error) {
      const cause = await commitCause(error);
      this.checkAlive();
      throw this.#fatal ?? commitError(this.#file, cause, bytes);
    }
  }

  /** Every commit is in the file that others read. */
  async checkpoint(): Promise<void> {}

  /** Lets the next read see what another thread has committed. */
  refresh(): void {
    this.#db.resetReadTxn();
  }

  /**
   * A failed write of LMDB's meta page ends the environment: reads fail from then on, and the library would wait for
   * ever on the next write. No transaction was lost, but only a new start can tell which of the two the file holds.
   */
  checkAlive(): void {
    try {
      this.#db.resetReadTxn();
      this.#db.getBinary(Buffer.from([0]));
    } catch (cause) {
      this.#fatal = new StoreError("failed", `the store gave up (${text(cause)}); restart the server`, cause);
      this.#onFatal?.(this.#fatal);
    }
  }

  snapshot(): Snapshot {
    this.#refresh();
    const transaction = this.#db.useReadTransaction();
    return new LmdbSnapshot(this.#db, transaction);
  }

  /** Frees what the snapshots of processes that were killed keep from being written over. */
  dropDeadReaders(): void {
    this.#db.readerCheck();
  }

  stats(): StoreStats {
    const stats = this.#db.getStats() as { entryCount?: number };
    return { diskBytes: statSync(this.#file).size, entries: stats.entryCount ?? 0 };
  }

  async close(): Promise<void> {
    this.#view?.close();
    await this.#db.close();
    if (this.#fatal === undefined) this.#marker?.closed();
  }

  #refresh(): void {
    if (this.#shared) this.refresh();
  }
}

function openFile(path: string): Database {
  return open<Buffer, Buffer>({
    path,
    keyEncoding: "binary",
    encoding: "binary",
    cache: false,
    mapSize: mapBytes,
    // A resolved write has been synced.
    overlappingSync: false,
    // The engine gathers its own groups; waiting for the end of the event turn would only add latency.
    eventTurnBatching: false,
    // A snapshot holds a reader slot until it is disposed.
    maxReaders: 512,
    // Pages are zeroed before they reach the disk, so that no memory of the process ends up in the file.
    noMemInit: false,
  });
}

/** A first start that was cut short may leave an empty file. */
function isEmpty(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Refuses a file that LMDB must not be let near; returns whether there is one. */
function inspect(file: string, marker: ShutdownMarker): boolean {
  if (isEmpty(file)) {
    if (marker.known) throw openError(file, new PageDamage("it is empty or gone"));
    return false;
  }
  const { clean, unclean, again } = pagesChecked;
  try {
    checkPages(file, [clean, unclean][marker.uncleanStarts] ?? again);
  } catch (cause) {
    throw openError(file, cause);
  }
  return true;
}

function bytesOf(ops: readonly WriteOp[]): number {
  let bytes = 0;
  for (const op of ops) if (op.kind === "put") bytes += op.value.length;
  return bytes;
}
