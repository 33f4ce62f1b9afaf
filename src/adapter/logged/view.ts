import { foldEntries } from "../../port/commit-entry.ts";
import type { Bytes, Reader, Snapshot, Store, StoreStats, WriteOp } from "../../port/store.ts";

/** What the entries of the log are applied to. Everything in it can be made again from the log, or has been. */
export interface View extends Reader {
  /** The changes of entries one after another, and the mark, as one atomic and durable step. */
  apply(entries: readonly Bytes[], mark: WriteOp): Promise<void>;
  snapshot(): Snapshot;
  stats(): StoreStats;
  close(): Promise<void>;
}

/** Any store as a view, on the thread that asks. */
export class StoreView implements View {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  apply(entries: readonly Bytes[], mark: WriteOp): Promise<void> {
    return this.#store.commit([...foldEntries(entries), mark]);
  }

  get(key: Bytes) {
    return this.#store.get(key);
  }

  peek(key: Bytes) {
    return this.#store.peek(key);
  }

  head(key: Bytes, bytesMax: number) {
    return this.#store.head(key, bytesMax);
  }

  range(range: Parameters<Store["range"]>[0]) {
    return this.#store.range(range);
  }

  borrow(range: Parameters<Store["borrow"]>[0]) {
    return this.#store.borrow(range);
  }

  keys(range: Parameters<Store["keys"]>[0]) {
    return this.#store.keys(range);
  }

  snapshot() {
    return this.#store.snapshot();
  }

  stats() {
    return this.#store.stats();
  }

  close() {
    return this.#store.close();
  }
}
