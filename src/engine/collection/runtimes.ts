import type { Store } from "../../port/store.ts";
import type { Log } from "../log/log.ts";
import { type CollectionMeta, readCollectionTotals, readManifest } from "./collection-store.ts";
import { CollectionRuntime, type IndexThread } from "./runtime.ts";

/** The collections in use. */
export class Runtimes {
  readonly #store: Store;
  readonly #log: Log;
  readonly #index: IndexThread;
  readonly #runtimes = new Map<number, CollectionRuntime>();

  constructor(store: Store, log: Log, index: IndexThread) {
    this.#store = store;
    this.#log = log;
    this.#index = index;
    index.onLost(() => {
      for (const runtime of this.#runtimes.values()) runtime.onLost();
    });
  }

  of(meta: CollectionMeta): CollectionRuntime {
    const known = this.#runtimes.get(meta.id);
    if (known !== undefined) return known;
    const manifest = readManifest(this.#store, meta.id);
    const totals = readCollectionTotals(this.#store, meta.id);
    const made = new CollectionRuntime(meta, manifest, totals, this.#index, this.#log);
    this.#runtimes.set(meta.id, made);
    return made;
  }

  find(collectionId: number): CollectionRuntime | undefined {
    return this.#runtimes.get(collectionId);
  }

  drop(collectionId: number): void {
    this.#runtimes.get(collectionId)?.close();
    this.#runtimes.delete(collectionId);
  }

  *all(): Iterable<CollectionRuntime> {
    yield* this.#runtimes.values();
  }
}
