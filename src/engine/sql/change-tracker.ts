import type { CollectionRuntime } from "../collection/runtime.ts";
import { changedIds } from "../collection/write-record.ts";

/** Ids of changed documents that are kept for a collection; beyond it the collection is loaded again. */
const idsMax = 100_000;

/** The documents that changed between two counts of a collection's changes. */
export interface Delta {
  readonly from: number;
  readonly upTo: number;
  /** The offset of the collection's log after the last of them. */
  readonly next: number;
  readonly ids: Float64Array;
}

interface Followed {
  from: number;
  upTo: number;
  next: number;
  ids: number[];
}

/**
 * Remembers which documents changed in the collections that SQL has loaded, so that only those are read again. The log
 * tells the same, but it is freed as soon as segments hold it.
 */
export class ChangeTracker {
  readonly #followed = new Map<number, Followed>();

  /** What changed since it was asked last. Called in the same turn as the message that takes it to the process. */
  take(runtime: CollectionRuntime, next: number): Delta {
    const { id } = runtime.meta;
    let followed = this.#followed.get(id);
    if (followed === undefined) {
      const { changes } = runtime.totals;
      followed = { from: changes, upTo: changes, next, ids: [] };
      this.#followed.set(id, followed);
      runtime.followers.set(this, (changes, next, total) => this.#onChanges(id, changes, next, total));
    }
    const { from, upTo, ids } = followed;
    followed.from = upTo;
    followed.ids = [];
    return { from, upTo, next: followed.next, ids: Float64Array.from(ids) };
  }

  /** Forgets what was reported so far. */
  clear(): void {
    this.#followed.clear();
  }

  #onChanges(id: number, changes: Uint8Array, next: number, total: number): void {
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    for (const each of changedIds(changes)) followed.ids.push(each);
    followed.upTo = total;
    followed.next = next;
    if (followed.ids.length > idsMax) this.#followed.delete(id);
  }
}
