import type { Store } from "../../port/store.ts";
import type { Log } from "../log/log.ts";
import { collectionMissing } from "./catalog.ts";
import {
  type CollectionMeta,
  collectionKey,
  decodeCollection,
  readCollectionTotals,
  readManifest,
} from "./collection-store.ts";
import type { IndexThreads } from "./index-threads.ts";
import { CollectionRuntime } from "./runtime.ts";
import type { CollectionSettings } from "./settings.ts";

/** The collections in use. */
export class Runtimes {
  readonly #store: Store;
  readonly #log: Log;
  readonly #index: IndexThreads;
  readonly #onError: (error: unknown) => void;
  readonly #runtimes = new Map<number, CollectionRuntime>();
  /** Another node writes and builds what these read. */
  follows = false;

  constructor(store: Store, log: Log, index: IndexThreads, onError: (error: unknown) => void) {
    this.#store = store;
    this.#log = log;
    this.#index = index;
    this.#onError = onError;
    index.onLost((place) => {
      for (const runtime of this.#runtimes.values()) runtime.onLost(place);
    });
  }

  of(meta: CollectionMeta): CollectionRuntime {
    const known = this.#runtimes.get(meta.id);
    if (known !== undefined) return known;
    // A request that began before the drop must not bring the collection's runtime back.
    const stored = this.#store.get(collectionKey(meta.namespaceId, meta.name));
    if (stored === undefined || decodeCollection(meta.namespaceId, meta.namespace, meta.name, stored).id !== meta.id) {
      throw collectionMissing(meta.namespace, meta.name);
    }
    const manifest = readManifest(this.#store, meta.id);
    const totals = readCollectionTotals(this.#store, meta.id);
    const runtime = new CollectionRuntime(meta, manifest, totals, this.#index, this.#log, this.#store, this.#onError);
    runtime.follows = this.follows;
    this.#runtimes.set(meta.id, runtime);
    return runtime;
  }

  find(collectionId: number): CollectionRuntime | undefined {
    return this.#runtimes.get(collectionId);
  }

  drop(collectionId: number): void {
    this.#runtimes.get(collectionId)?.drop();
    this.#runtimes.delete(collectionId);
  }

  /** Closes indexes that nobody asked for a while, and the least recently used ones when all together are too large. */
  closeIdle({ openBytesMax, openIdleMs }: CollectionSettings, nowMs: number): void {
    const open = [...this.all()].filter(({ state }) => state !== "cold");
    let bytes = open.reduce((sum, runtime) => sum + runtime.openBytes, 0);
    const closable = open.filter(({ state, meta, backlogRecords }) => state === "hot" && !meta.hot && !backlogRecords);
    for (const runtime of closable.sort((a, b) => a.lastUseMs - b.lastUseMs)) {
      if (bytes <= openBytesMax && nowMs - runtime.lastUseMs < openIdleMs) return;
      bytes -= runtime.openBytes;
      runtime.close();
    }
  }

  *all(): Iterable<CollectionRuntime> {
    yield* this.#runtimes.values();
  }
}
