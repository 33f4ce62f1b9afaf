import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase, type Transaction } from "lmdb";
import {
  type Bytes,
  type Entry,
  type Range,
  type Reader,
  type Snapshot,
  type Store,
  StoreError,
  type StoreStats,
  type WriteOp,
} from "../../port/store.ts";

/** The declared type of the library leaves out that binary reads take a transaction. */
type Database = Omit<RootDatabase<Buffer, Buffer>, "getBinary" | "getBinaryFast"> & {
  getBinary(key: Bytes, options?: ReadOptions): Buffer | undefined;
  getBinaryFast(key: Bytes, options?: ReadOptions): Buffer | undefined;
};

interface ReadOptions {
  readonly transaction: Transaction;
}

const fileName = "data.mdb";
/** Below every other key. Without an end of its own a reversed range would leave this one out. */
const lowestKey = Buffer.of(0);

/**
 * The default store. Writes run on LMDB's own thread: a batch's pages are synced, then its meta page, before the
 * promise resolves (`overlappingSync` off). Reads come from the memory map, on the caller's thread.
 */
export class LmdbStore implements Store {
  readonly #db: Database;
  readonly #file: string;
  readonly #reader: LmdbReader;

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.#file = join(directory, fileName);
    try {
      this.#db = open<Buffer, Buffer>({
        path: this.#file,
        keyEncoding: "binary",
        encoding: "binary",
        cache: false,
        // A resolved write has been synced.
        overlappingSync: false,
        // The engine gathers its own groups; waiting for the end of the event turn would only add latency.
        eventTurnBatching: false,
        // A snapshot holds a reader slot until it is disposed.
        maxReaders: 512,
        // Pages are zeroed before they reach the disk, so that no memory of the process ends up in the file.
        noMemInit: false,
      });
    } catch (cause) {
      throw openError(this.#file, cause);
    }
    this.#reader = new LmdbReader(this.#db, undefined);
  }

  get(key: Bytes): Bytes | undefined {
    return this.#reader.get(key);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    return this.#reader.head(key, bytesMax);
  }

  range(range: Range): Iterable<Entry> {
    return this.#reader.range(range);
  }

  keys(range: Range): Iterable<Bytes> {
    return this.#reader.keys(range);
  }

  async commit(ops: readonly WriteOp[]): Promise<void> {
    if (ops.length === 0) return;
    const db = this.#db;
    const writes: Promise<boolean>[] = [];
    try {
      const batch = db.batch(() => {
        for (const op of ops) {
          if (op.kind === "put") writes.push(db.put(op.key as Buffer, op.value as Buffer));
          else writes.push(db.remove(op.key as Buffer));
        }
      });
      await batch;
    } catch (cause) {
      // Each write has a promise of its own that fails with the batch; the batch's error is the one reported.
      for (const write of writes) write.catch(() => {});
      throw commitError(cause);
    }
  }

  snapshot(): Snapshot {
    const transaction = this.#db.useReadTransaction();
    return new LmdbSnapshot(this.#db, transaction);
  }

  stats(): StoreStats {
    const stats = this.#db.getStats() as { entryCount?: number };
    return { diskBytes: statSync(this.#file).size, entries: stats.entryCount ?? 0 };
  }

  async close(): Promise<void> {
    await this.#db.close();
  }
}

class LmdbReader implements Reader {
  readonly #db: Database;
  readonly #transaction: ReadOptions | undefined;

  constructor(db: Database, transaction: Transaction | undefined) {
    this.#db = db;
    this.#transaction = transaction === undefined ? undefined : { transaction };
  }

  get(key: Bytes): Bytes | undefined {
    return this.#db.getBinary(key, this.#transaction);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    const fast = this.#db.getBinaryFast(key, this.#transaction);
    // The fast buffer is shared with the next read; its head is copied out of it.
    return fast === undefined ? undefined : Uint8Array.prototype.slice.call(fast, 0, Math.min(bytesMax, fast.length));
  }

  *range(range: Range): Iterable<Entry> {
    for (const { key, value } of this.#db.getRange(this.#options(range))) {
      yield { key, value };
    }
  }

  *keys(range: Range): Iterable<Bytes> {
    yield* this.#db.getKeys(this.#options(range));
  }

  #options({ from, to, reverse = false, limit }: Range) {
    const bounds: Record<string, unknown> = { ...this.#transaction };
    if (limit !== undefined) bounds["limit"] = limit;
    if (reverse) {
      bounds["reverse"] = true;
      // Reversed, LMDB's start is the upper end: ours is exclusive there and inclusive at the lower one.
      if (to !== undefined) Object.assign(bounds, { start: to, exclusiveStart: true });
      Object.assign(bounds, { end: from ?? lowestKey, inclusiveEnd: true });
    } else {
      if (from !== undefined) bounds["start"] = from;
      if (to !== undefined) bounds["end"] = to;
    }
    return bounds;
  }
}

class LmdbSnapshot extends LmdbReader implements Snapshot {
  readonly #owned: Transaction;

  constructor(db: Database, transaction: Transaction) {
    super(db, transaction);
    this.#owned = transaction;
  }

  [Symbol.dispose](): void {
    this.#owned.done();
  }
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function openError(file: string, cause: unknown): StoreError {
  return new StoreError(
    "damaged",
    `the store ${file} can't be opened (${text(cause)}); restore it from a backup, or move it away to start empty`,
    cause,
  );
}

const noRoom = /no space|ENOSPC|disk quota|EDQUOT|file too large|EFBIG|MDB_MAP_FULL/i;

function commitError(cause: unknown): StoreError {
  const causes = [cause, (cause as { commitError?: unknown } | undefined)?.commitError];
  if (causes.some((each) => each !== undefined && noRoom.test(text(each)))) {
    return new StoreError("full", "the disk has no room for the write", cause);
  }
  return new StoreError("failed", `the store could not commit: ${text(cause)}`, cause);
}
