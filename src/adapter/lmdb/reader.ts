import type { RootDatabase, Transaction } from "lmdb";
import type { Bytes, Entry, Range, Reader, Snapshot, StoreError } from "../../port/store.ts";
import { readError } from "./error.ts";

/** The declared type of the library leaves out that binary reads take a transaction. */
export type Database = Omit<RootDatabase<Buffer, Buffer>, "getBinary" | "getBinaryFast"> & {
  getBinary(key: Bytes, options?: ReadOptions): Buffer | undefined;
  getBinaryFast(key: Bytes, options?: ReadOptions): Buffer | undefined;
};

interface ReadOptions {
  readonly transaction: Transaction;
}

/** Below every other key. Without an end of its own a reversed range would leave this one out. */
const lowestKey = Buffer.of(0);

export class LmdbReader implements Reader {
  readonly #db: Database;
  readonly #transaction: ReadOptions | undefined;

  constructor(db: Database, transaction: Transaction | undefined) {
    this.#db = db;
    this.#transaction = transaction === undefined ? undefined : { transaction };
  }

  get(key: Bytes): Bytes | undefined {
    try {
      return this.#db.getBinary(key, this.#transaction);
    } catch (cause) {
      throw this.#failed(cause);
    }
  }

  peek(key: Bytes): Bytes | undefined {
    const fast = this.#fast(key);
    // Its memory is longer than the value, which only its `length` tells.
    return fast === undefined ? undefined : Buffer.from(fast.buffer, fast.byteOffset, fast.length);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    const fast = this.#fast(key);
    return fast === undefined ? undefined : Uint8Array.prototype.slice.call(fast, 0, Math.min(bytesMax, fast.length));
  }

  /** A value in memory that the next read takes over. */
  #fast(key: Bytes): Buffer | undefined {
    try {
      return this.#db.getBinaryFast(key, this.#transaction);
    } catch (cause) {
      throw this.#failed(cause);
    }
  }

  *range(range: Range): Iterable<Entry> {
    yield* this.#checked(this.#db.getRange(this.#options(range)));
  }

  /** The library's own walk copies every value; its read of one key hands out memory that the next read takes over. */
  *borrow(range: Range): Iterable<Entry> {
    for (const key of this.keys(range)) {
      const value = this.peek(key);
      if (value !== undefined) yield { key, value };
    }
  }

  *keys(range: Range): Iterable<Bytes> {
    yield* this.#checked(this.#db.getKeys(this.#options(range)));
  }

  /** What LMDB throws while it walks gets its reason; what the consumer throws is its own. */
  *#checked<T>(entries: Iterable<T>): Iterable<T> {
    let iterator: Iterator<T> | undefined;
    try {
      for (;;) {
        let step: IteratorResult<T>;
        try {
          iterator ??= entries[Symbol.iterator]();
          step = iterator.next();
        } catch (cause) {
          iterator = undefined;
          throw this.#failed(cause);
        }
        if (step.done) {
          iterator = undefined;
          return;
        }
        yield step.value;
      }
    } finally {
      // Left early: the cursor goes back to the library.
      iterator?.return?.();
    }
  }

  /** A transaction that met damage fails every read after it, so the next one gets a new one. */
  #failed(cause: unknown): StoreError {
    if (this.#transaction === undefined) this.#db.resetReadTxn();
    return readError(cause);
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

export class LmdbSnapshot extends LmdbReader implements Snapshot {
  readonly #owned: Transaction;

  constructor(db: Database, transaction: Transaction) {
    super(db, transaction);
    this.#owned = transaction;
  }

  [Symbol.dispose](): void {
    this.#owned.done();
  }
}
