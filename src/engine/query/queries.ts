import type { Reader, Store } from "../../port/store.ts";
import { type CollectionMeta, documentKey, readCollectionTotals } from "../collection/collection-store.ts";
import { decodeSource, decodeStored, openStored } from "../collection/document-codec.ts";
import type { DocumentRef, ReadOptions } from "../collection/documents.ts";
import type { CollectionRuntime } from "../collection/runtime.ts";
import { changedIds } from "../collection/write-record.ts";
import type { Committer } from "../commit/committer.ts";
import { takeBetween } from "../commit/take-between.ts";
import { EngineError, unavailable } from "../errors.ts";
import type { Json } from "../retrieval/json-fields.ts";
import type { QueryOutcome } from "../retrieval/outcome.ts";
import { kindOf, type QueryPlan, searchPart, shownOf } from "../retrieval/plan.ts";
import { buildResult, type LoadDocument, type LoadedDocument, type QueryResult, RowRoom } from "../retrieval/result.ts";
import { type ParsedSource, SourceCache } from "../retrieval/source-cache.ts";
import { cancellable, queryStopped } from "../retrieval/stopped.ts";
import type { Schema } from "../schema/schema.ts";
import type { Filter } from "../search/filter/filter.ts";
import type { Recall } from "../search/vector/recall.ts";
import { type ConsistencyToken, tokenAt } from "../token.ts";
import { runInTurns } from "../turns.ts";
import { type HandedAnswer, type HandedQuery, Handover, type HandoverDeps } from "./handover.ts";
import { QueryQueue } from "./query-queue.ts";

export interface QueriesDeps extends HandoverDeps {
  readonly store: Store;
  readonly committer: Committer;
}

/** What was found and the documents of the same moment. */
interface FinishedSearch {
  readonly outcome: QueryOutcome;
  readonly snapshot: Reader;
  /** How many changes of the collection the snapshot shows. */
  readonly changes: number;
  readonly runtime: CollectionRuntime;
  readonly plan: QueryPlan;
  readonly token: ConsistencyToken;
}

/** Hits, best first, with the documents of the same moment. What is gone is undefined. */
export interface StoredHits {
  readonly hits: readonly { readonly id: number; readonly score: number }[];
  readonly meta: CollectionMeta;
  /** Encoded, in memory of the store that is lent. */
  document(id: number): Uint8Array | undefined;
  /** Parsed; nobody may write to it. */
  source(id: number): Json | undefined;
}

/** How many times a view of store and index together is tried for. */
const attemptsMax = 5;

/** Hybrid retrieval: the plan runs in the index thread, the rows are made here from a snapshot of the same moment. */
export class Queries {
  readonly #deps: QueriesDeps;
  readonly #queue = new QueryQueue();
  readonly #handover: Handover;
  readonly #sources = new SourceCache();

  constructor(deps: QueriesDeps) {
    this.#deps = deps;
    this.#handover = new Handover(deps, this.#queue);
  }

  /** The schema of a collection or alias, for parsing a query. */
  schemaOf(namespace: string, collection: string): Schema {
    return this.metaOf(namespace, collection).schema;
  }

  /** A collection, by its name or an alias. */
  metaOf(namespace: string, collection: string): CollectionMeta {
    return this.#deps.catalog.find(namespace, collection);
  }

  /** Has a query read, run and answered by a thread that searches. Undefined where none can: then it is for `run`. */
  answer(namespace: string, query: HandedQuery, signal?: AbortSignal): Promise<HandedAnswer | undefined> {
    return this.#handover.answer(namespace, query, signal);
  }

  /** `room` bounds what the rows weigh: one for all queries of a request. */
  async run(
    namespace: string,
    plan: QueryPlan,
    token: ConsistencyToken,
    signal?: AbortSignal,
    room = new RowRoom(),
  ): Promise<QueryResult> {
    const { clock, onQuery } = this.#deps;
    const startedMs = clock.steadyMs();
    const tookMs = () => clock.steadyMs() - startedMs;
    const result = await this.#searched(
      namespace,
      plan,
      token,
      signal,
      ({ outcome, snapshot, changes, runtime, plan, token }) => {
        const loadHit = this.#loader(plan, snapshot, runtime, changes);
        const load: LoadDocument = (hit) => {
          if (signal?.aborted) throw queryStopped();
          return loadHit(hit);
        };
        // Thousands of rows are made in slices: the thread that makes them is the listener's.
        return runInTurns(buildResult(plan, outcome, load, token, tookMs, room), clock);
      },
    );
    onQuery?.(kindOf(plan), clock.steadyMs() - startedMs);
    return result;
  }

  #loader(plan: QueryPlan, snapshot: Reader, runtime: CollectionRuntime, changes: number): LoadDocument {
    const shown = shownOf(plan);
    const collection = runtime.meta.id;
    if (shown !== "source") return ({ id }) => loadDocument(snapshot, collection, id, shown);
    this.#followSources(runtime);
    return ({ id }) => this.#source(snapshot, collection, changes, id);
  }

  #followSources(runtime: CollectionRuntime): void {
    const { meta, totals, followers } = runtime;
    if (followers.has(this.#sources) && this.#sources.follows(meta.id)) return;
    this.#sources.follow(meta.id, totals.changes);
    followers.set(this.#sources, (changes, _next, total) => {
      if (!this.#sources.onChanges(meta.id, changedIds(changes), total)) followers.delete(this.#sources);
    });
  }

  #source(snapshot: Reader, collection: number, changes: number, id: number): ParsedSource | undefined {
    const known = this.#sources.find(collection, changes, id);
    if (known !== undefined) return known;
    const document = storedDocument(snapshot, collection, id);
    return document && this.#sources.parsed(collection, changes, id, decodeSource(document));
  }

  /** The hits of a plan, for whoever makes other rows of them; `make` is called while the moment's documents are there. */
  async hits<T>(
    namespace: string,
    plan: QueryPlan,
    token: ConsistencyToken,
    signal: AbortSignal | undefined,
    make: (found: StoredHits) => T,
  ): Promise<{ readonly answer: T; readonly token: ConsistencyToken }> {
    return this.#searched(namespace, plan, token, signal, ({ outcome, snapshot, changes, runtime, token }) => {
      const { meta } = runtime;
      this.#followSources(runtime);
      const document = (id: number) => storedDocument(snapshot, meta.id, id);
      const source = (id: number) => this.#source(snapshot, meta.id, changes, id)?.source;
      return { answer: make({ hits: outcome.hits, meta, document, source }), token };
    });
  }

  async #searched<T>(
    namespace: string,
    plan: QueryPlan,
    token: ConsistencyToken,
    signal: AbortSignal | undefined,
    finish: (search: FinishedSearch) => T | Promise<T>,
  ): Promise<T> {
    const { documents } = this.#deps;
    const wanted = { token, eventual: plan.consistency === "eventual" };
    const { runtime, eventual } = await documents.reading({ namespace, collection: plan.collection }, wanted, signal);
    const decided: QueryPlan = { ...plan, consistency: eventual ? "eventual" : "strong" };
    await this.#queue.enter(signal);
    try {
      return await this.#search(runtime, decided, signal, finish);
    } finally {
      this.#queue.leave();
    }
  }

  /** How much of the exact answer the vector graphs find, and how long both take. */
  async recall(
    ref: DocumentRef,
    question: { readonly field: string; readonly num: number; readonly k: number; readonly filter: Filter | undefined },
    options: ReadOptions,
    signal?: AbortSignal,
  ): Promise<Recall> {
    const { runtime, eventual } = await this.#deps.documents.reading(ref, options, signal);
    await this.#queue.enter(signal);
    try {
      return await runtime.ask<Recall>({ kind: "recall", ...question, eventual });
    } finally {
      this.#queue.leave();
    }
  }

  async #search<T>(
    runtime: CollectionRuntime,
    plan: QueryPlan,
    signal: AbortSignal | undefined,
    finish: (search: FinishedSearch) => T | Promise<T>,
  ): Promise<T> {
    const { committer } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      await runtime.open();
      const take = () => {
        if (signal?.aborted) throw queryStopped();
        return this.#take(runtime, plan);
      };
      // Between two commits the store is exactly what the index was told.
      const claim = take() ?? (await takeBetween(committer, take));
      if (claim === undefined) {
        if (attempt < attemptsMax) continue;
        throw unavailable("the collection's index and documents could not be read at one moment; retry");
      }
      using snapshot = claim.snapshot;
      try {
        const outcome = await cancellable(claim.searching, signal);
        return await finish({ outcome, snapshot, changes: claim.changes, runtime, plan, token: claim.token });
      } catch (error) {
        const lost = error instanceof EngineError && error.reason === "unavailable";
        if (!lost || attempt >= attemptsMax) throw error;
      }
    }
  }

  /** A snapshot of the store and a search of the same moment; undefined when the index was not told of all of it yet. */
  #take(runtime: CollectionRuntime, plan: QueryPlan) {
    const { store, documents } = this.#deps;
    if (runtime.state !== "hot") return undefined;
    const snapshot = store.snapshot();
    const { changes } = readCollectionTotals(snapshot, runtime.meta.id);
    if (changes !== runtime.totals.changes) {
      snapshot[Symbol.dispose]();
      return undefined;
    }
    const eventual = plan.consistency === "eventual";
    const token = eventual ? tokenAt(runtime.meta.streamId, runtime.manifest.applied) : documents.token(runtime);
    const searching = runtime.search(searchPart(plan));
    // Whoever takes it awaits it a turn later.
    searching.outcome.catch(() => {});
    return { snapshot, changes, searching, token };
  }
}

function storedDocument(snapshot: Reader, collection: number, id: number): Uint8Array | undefined {
  const key = documentKey(collection, id);
  const stored = snapshot.get(key);
  return stored && openStored(key, stored).document;
}

const nothing: LoadedDocument = { source: {} };

function loadDocument(
  reader: Pick<Reader, "get">,
  collectionId: number,
  id: number,
  shown: "nothing" | "vectors",
): LoadedDocument | undefined {
  const key = documentKey(collectionId, id);
  const stored = reader.get(key);
  if (stored === undefined) return undefined;
  if (shown === "nothing") return nothing;
  const { source, vectors, sparse } = decodeStored(id, key, stored);
  return { source, characters: source.length, vectors, sparseVectors: sparse };
}
