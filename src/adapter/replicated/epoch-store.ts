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

/**
 * A store that outlives the owner who writes to it. Once this one's time is over it takes no more commits: what is left of an engine could
 * otherwise commit what it decided long ago, when the same process has become the owner again.
 */
export class EpochStore implements Store {
  readonly #store: Store;
  readonly #isOver: () => boolean;

  constructor(store: Store, isOver: () => boolean) {
    this.#store = store;
    this.#isOver = isOver;
  }

  get(key: Bytes): Bytes | undefined {
    return this.#store.get(key);
  }

  peek(key: Bytes): Bytes | undefined {
    return this.#store.peek(key);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    return this.#store.head(key, bytesMax);
  }

  range(range: Range): Iterable<Entry> {
    return this.#store.range(range);
  }

  borrow(range: Range): Iterable<Entry> {
    return this.#store.borrow(range);
  }

  keys(range: Range): Iterable<Bytes> {
    return this.#store.keys(range);
  }

  snapshot(): Snapshot {
    return this.#store.snapshot();
  }

  async commit(ops: readonly WriteOp[]): Promise<void> {
    if (this.#isOver()) throw new StoreError("fenced", "this node is no longer the owner; nothing was written");
    await this.#store.commit(ops);
  }

  checkpoint(): Promise<void> {
    return this.#store.checkpoint();
  }

  stats(): StoreStats {
    return this.#store.stats();
  }

  /** The store is the node's, which goes on. */
  async close(): Promise<void> {}
}
