import { createHash } from "node:crypto";
import type { Clock } from "../../port/clock.ts";
import type { Entry, Snapshot, Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { takeBetween } from "../commit/take-between.ts";
import { invalid, unavailable } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Log } from "../log/log.ts";
import { cancellable } from "../retrieval/stopped.ts";
import { type Filter, matchAll } from "../search/filter/filter.ts";
import { tokenAt } from "../token.ts";
import { runInTurns, type Steps } from "../turns.ts";
import { documentIdOf, documentKey, readCollectionTotals } from "./collection-store.ts";
import { decodeStored, type VersionedDocument } from "./document-codec.ts";
import { type Pinned, type Pins, pinLimits } from "./pins.ts";
import type { CollectionRuntime } from "./runtime.ts";

/** Where a client goes on: after a document, in what was pinned for it. */
export interface Cursor {
  readonly pin: number;
  readonly afterId: number;
  /** Tells what it continues from what it does not, see `cursorName`. */
  readonly name: string;
  /** Where it stood in the request that gave it back, for errors. */
  readonly field?: string;
}

export interface PinnedReadsDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly pins: Pins;
  readonly log: Log;
  readonly clock: Clock;
}

export interface Page {
  readonly documents: readonly VersionedDocument[];
  /** The id after which more documents follow. */
  readonly nextAfterId: number | undefined;
}

/** How many times a view of store and index together is tried for before the reader is told to come back. */
const attemptsMax = 5;

/** What pages and filtered writes go over: documents and matches of one moment, kept for the cursors that continue. */
export class PinnedReads {
  readonly #deps: PinnedReadsDeps;

  constructor(deps: PinnedReadsDeps) {
    this.#deps = deps;
  }

  /**
   * Runs over what a cursor continues on or, without one or when that is gone, over what there is now. `run` returns
   * the id after which the next request goes on; what it needs is kept then.
   */
  async over<T extends { readonly nextAfterId: number | undefined }>(
    runtime: CollectionRuntime,
    cursor: Cursor | undefined,
    name: string,
    reaches: (pinned: Pinned) => boolean,
    pin: (afterId: number) => Promise<Pinned>,
    run: (pinned: Pinned, afterId: number) => Promise<T>,
  ): Promise<{ readonly done: T; readonly pinned: Pinned; readonly next: Cursor | undefined }> {
    const { pins } = this.#deps;
    const collectionId = runtime.meta.id;
    if (cursor !== undefined) {
      if (cursor.name !== name) {
        throw invalid(
          cursor.field ?? "cursor",
          "belongs to a request of another kind, collection, filter or consistency",
        );
      }
      const continued = await pins.use(cursor.pin, collectionId, async (pinned) => {
        return reaches(pinned) ? { done: await run(pinned, cursor.afterId), pinned } : undefined;
      });
      if (continued !== undefined) {
        const { nextAfterId } = continued.done;
        if (nextAfterId === undefined) pins.release(cursor.pin);
        return { ...continued, next: nextAfterId === undefined ? undefined : { ...cursor, afterId: nextAfterId } };
      }
    }
    const afterId = cursor?.afterId ?? -1;
    const pinned = await pin(afterId);
    let isPinned = false;
    try {
      const done = await run(pinned, afterId);
      if (done.nextAfterId === undefined) return { done, pinned, next: undefined };
      const added = pins.add(collectionId, pinned);
      isPinned = added !== undefined;
      // Without a pin the next page goes over what there is then.
      return { done, pinned, next: { pin: added ?? 0, afterId: done.nextAfterId, name } };
    } finally {
      if (!isPinned) pinned.snapshot?.[Symbol.dispose]();
    }
  }

  /** All documents as they are now. */
  pinAll(runtime: CollectionRuntime): Pinned {
    const snapshot = this.#deps.store.snapshot();
    return { snapshot, matches: undefined, token: this.#tokenNow(runtime) };
  }

  /** The matches and the documents of the same moment. */
  async pinMatches(
    runtime: CollectionRuntime,
    filter: Filter | undefined,
    afterId: number,
    eventual: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Pinned> {
    const { committer } = this.#deps;
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      await runtime.open();
      const take = () => this.#takeMatches(runtime, filter ?? matchAll, afterId, eventual);
      // Between two commits the store is exactly what the index was told.
      const claim = take() ?? (await takeBetween(committer, take));
      if (claim === undefined) continue;
      try {
        const { ids, versions } = await cancellable(claim.matching, signal);
        return { snapshot: claim.snapshot, matches: { ids, versions }, token: claim.token };
      } catch (error) {
        claim.snapshot[Symbol.dispose]();
        if (runtime.state !== "cold" || attempt > 1) throw error;
      }
    }
    throw unavailable("the collection's index and documents could not be read at one moment; retry");
  }

  /** Undefined when the store has a commit that the index was not told of yet, or the index was closed. */
  #takeMatches(runtime: CollectionRuntime, filter: Filter, afterId: number, eventual: boolean) {
    if (runtime.state !== "hot") return undefined;
    const snapshot = this.#deps.store.snapshot();
    if (readCollectionTotals(snapshot, runtime.meta.id).changes !== runtime.totals.changes) {
      snapshot[Symbol.dispose]();
      return undefined;
    }
    const token = eventual ? tokenAt(runtime.meta.streamId, runtime.manifest.applied) : this.#tokenNow(runtime);
    const limit = pinLimits.idsMax + 1;
    const matching = runtime.match({ filter, afterId, limit, eventual });
    // Whoever takes it awaits it a turn later.
    matching.outcome.catch(() => {});
    return { snapshot, matching, token };
  }

  #tokenNow({ meta, stream }: CollectionRuntime) {
    return tokenAt(meta.streamId, this.#deps.log.highWatermark(stream, 0));
  }

  /** A page of documents; it ends early when it gets large. */
  page(runtime: CollectionRuntime, pinned: Pinned, afterId: number, limit: number): Promise<Page> {
    const { id } = runtime.meta;
    const { snapshot, matches } = pinned;
    const entries =
      matches === undefined
        ? snapshot!.range({ from: documentKey(id, afterId + 1), to: documentKey(id + 1, 0), limit: limit + 1 })
        : matchingEntries(snapshot!, id, matches.ids, afterId);
    return runInTurns(readPage(entries, limit), this.#deps.clock);
  }
}

function* matchingEntries(
  snapshot: Snapshot,
  collectionId: number,
  ids: Float64Array,
  afterId: number,
): Iterable<Entry> {
  for (let i = firstAbove(ids, afterId); i < ids.length; i++) {
    const key = documentKey(collectionId, ids[i]!);
    const value = snapshot.get(key);
    // An eventual read may match what has been deleted since.
    if (value !== undefined) yield { key, value };
  }
}

function* readPage(entries: Iterable<Entry>, limit: number): Steps<Page> {
  const documents: VersionedDocument[] = [];
  let bytes = 0;
  for (const { key, value } of entries) {
    if (documents.length === limit || bytes >= limits.pageBytesMax) {
      return { documents, nextAfterId: documents.at(-1)!.id };
    }
    documents.push(decodeStored(documentIdOf(key), key, value));
    bytes += value.length;
    yield;
  }
  return { documents, nextAfterId: undefined };
}

/** The place of the first id above another; ids ascend. */
export function firstAbove(ids: Float64Array, id: number): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ids[middle]! <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A short name of what a cursor goes over, the same for the same request. The collection is a part of it: one that an
 * alias has moved to, or that was made anew under the name, has other documents under the same ids.
 */
export function cursorName(
  kind: "read" | "write",
  collectionId: number,
  filter: Filter | undefined,
  eventual: boolean,
): string {
  const text = JSON.stringify([kind, collectionId, filter ?? null, eventual]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 12);
}
