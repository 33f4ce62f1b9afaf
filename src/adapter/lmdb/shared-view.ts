import * as lmdb from "lmdb";
import { type Bytes, StoreError } from "../../port/store.ts";

/** What the library's types leave out of it. */
const { resetTxn } = (lmdb as unknown as { nativeAddon: { resetTxn(address: number): void } }).nativeAddon;

interface ReadTransaction {
  readonly address: number;
  isDone: boolean;
  done(): void;
}

interface Database {
  useReadTransaction(): unknown;
  resetReadTxn(): void;
  getBinaryFast(key: Bytes, options: { transaction: never }): Buffer | undefined;
}

/**
 * Reads that see what other processes have committed. The library's own read transaction is renewed by a timer, and
 * resetting it before each read starts a timer each time: 4.9 µs a read, against 0.5 µs with a transaction of our own
 * that is reset after each read and renewed by the next.
 */
export class SharedView {
  readonly #db: Database;
  readonly #transaction: ReadTransaction;
  readonly #options: { transaction: never };
  #isClosed = false;

  constructor(db: Database) {
    this.#db = db;
    const transaction = db.useReadTransaction() as ReadTransaction;
    // The library lets go of it, and does not take it up again for its own reads.
    db.resetReadTxn();
    transaction.isDone = true;
    resetTxn(transaction.address);
    this.#transaction = transaction;
    this.#options = { transaction: transaction as never };
  }

  get(key: Bytes): Bytes | undefined {
    // Past its end the transaction's address is anybody's memory.
    if (this.#isClosed) throw new StoreError("failed", "the store is closed");
    try {
      const fast = this.#db.getBinaryFast(key, this.#options);
      if (fast === undefined) return undefined;
      // The fast buffer is shared with the next read. Copied so, it takes a tenth of the time of its slice().
      const own = Buffer.allocUnsafe(fast.length);
      fast.copy(own, 0, 0, own.length);
      return own;
    } finally {
      resetTxn(this.#transaction.address);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#transaction.done();
  }
}
