import { tables } from "../../src/engine/keys.ts";
import { type Range, type Store, StoreError, type WriteOp } from "../../src/port/store.ts";

/** A store whose disk can be full for appends. The background, which only frees, is not disturbed on its own. */
export class FillingStore implements Store {
  readonly #store: Store;
  readonly #underWay = new Set<Promise<void>>();
  full = false;

  constructor(store: Store) {
    this.#store = store;
  }

  commit(ops: readonly WriteOp[]): Promise<void> {
    const appends = ops.some(({ kind, key }) => kind === "put" && key[0] === tables.log);
    if (this.full && appends) return Promise.reject(new StoreError("full", "no room"));
    const commit = this.#store.commit(ops);
    this.#underWay.add(commit);
    const end = () => this.#underWay.delete(commit);
    commit.then(end, end);
    return commit;
  }

  /** Resolves when no commit is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  checkpoint() {
    return this.#store.checkpoint();
  }

  get(key: Uint8Array) {
    return this.#store.get(key);
  }

  peek(key: Uint8Array) {
    return this.#store.peek(key);
  }

  head(key: Uint8Array, bytesMax: number) {
    return this.#store.head(key, bytesMax);
  }

  range(range: Range) {
    return this.#store.range(range);
  }

  borrow(range: Range) {
    return this.#store.borrow(range);
  }

  keys(range: Range) {
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
