import { type Bytes, type Range, type Store, StoreError, type WriteOp } from "../../src/port/store.ts";
import type { Life } from "./life.ts";
import type { Sabotage } from "./sabotage.ts";

/** The process's store, which breaks its promises where it is told to. */
export class SabotagedStore implements Store {
  readonly #store: Store;
  readonly #life: Life;
  readonly #sabotage: Sabotage;
  #last: Promise<void> = Promise.resolve();

  constructor(store: Store, life: Life, sabotage: Sabotage) {
    this.#store = store;
    this.#life = life;
    this.#sabotage = sabotage;
  }

  commit(ops: readonly WriteOp[]): Promise<void> {
    const commit = this.#commit(ops);
    this.#last = commit.catch(() => undefined);
    return commit;
  }

  /** Resolves when the outcome of the last commit is known. */
  get settled(): Promise<void> {
    return this.#last;
  }

  async #commit(ops: readonly WriteOp[]): Promise<void> {
    const { drops, keepsFailed, tearsCommit } = this.#sabotage;
    const kept = drops === undefined ? ops : ops.filter((op) => !drops(op));
    const parts = tearsCommit ? [kept.slice(0, kept.length >> 1), kept.slice(kept.length >> 1)] : [kept];
    for (const part of parts) {
      try {
        await this.#store.commit(part);
      } catch (error) {
        if (keepsFailed) await this.#store.commit(part).catch(() => undefined);
        throw error;
      }
      if (tearsCommit) await this.#life.turn();
    }
  }

  checkpoint() {
    return this.#store.checkpoint();
  }

  get(key: Bytes) {
    return this.#reader().get(key);
  }

  peek(key: Bytes) {
    return this.#reader().peek(key);
  }

  head(key: Bytes, bytesMax: number) {
    return this.#reader().head(key, bytesMax);
  }

  range(range: Range) {
    return this.#reader().range(range);
  }

  borrow(range: Range) {
    return this.#reader().borrow(range);
  }

  keys(range: Range) {
    return this.#reader().keys(range);
  }

  snapshot() {
    return this.#reader().snapshot();
  }

  stats() {
    return this.#reader().stats();
  }

  close() {
    return this.#store.close();
  }

  #reader(): Store {
    if (!this.#life.isAlive) throw new StoreError("failed", "the process has ended");
    return this.#store;
  }
}
