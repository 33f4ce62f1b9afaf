import type { Clock } from "../../../port/clock.ts";
import { type Reader, StoreError } from "../../../port/store.ts";
import { executeSteps, type QueryParts } from "../../retrieval/execute.ts";
import {
  type AnsweredQuery,
  type AskedQuery,
  Declined,
  type FormatName,
  type QueryFormat,
  type QueryRun,
} from "../../retrieval/format.ts";
import { kindOf, type QueryPlan, shownOf } from "../../retrieval/plan.ts";
import {
  buildResult,
  type LoadDocument,
  type LoadedDocument,
  type QueryResult,
  RowRoom,
} from "../../retrieval/result.ts";
import { SourceCache, sourceCacheLimits } from "../../retrieval/source-cache.ts";
import { tokenAt } from "../../token.ts";
import type { Steps } from "../../turns.ts";
import { documentKey, readCollectionTotals } from "../collection-store.ts";
import { decodeDocument, decodeSource, openStored } from "../document-codec.ts";
import { changedIds } from "../write-record.ts";
import type { CollectionIndex } from "./collection-index.ts";
import { RecentDocuments } from "./recent-documents.ts";

/** What a thread needs to answer queries by itself. */
export interface AnswerDeps {
  /** Undefined for one that this thread does not know yet. */
  readonly formatOf: (name: FormatName) => QueryFormat | undefined;
  /** The store's file, in which every read sees what is there by then. */
  readonly store: Pick<Reader, "get">;
}

/** Reads, runs and answers queries in the thread that searches, by the same functions as the listener's thread does. */
export class QueryAnswers {
  readonly #deps: AnswerDeps;
  readonly #clock: Clock;
  readonly #recent = new Map<number, RecentDocuments>();
  readonly #sources = new SourceCache(sourceCacheLimits.threadCharactersMax);

  constructor(deps: AnswerDeps, clock: Clock) {
    this.#deps = deps;
    this.#clock = clock;
  }

  /** A collection was opened anew, or closed: nothing of what was told of it before counts. */
  reset(collection: number): void {
    this.#recent.delete(collection);
    this.#sources.end(collection);
  }

  onChanges(collection: number, changes: Uint8Array, total: number | undefined): void {
    // What is replayed was committed before: the file has it soon, and is asked whether it does.
    if (total === undefined) return;
    this.#recentOf(collection).add(changes, total);
    if (this.#sources.follows(collection)) this.#sources.onChanges(collection, changedIds(changes), total);
  }

  /** The memory of the changes so far goes to another thread. */
  onFrozen(collection: number): void {
    this.#recent.get(collection)?.keepCopies();
  }

  /** What became a segment is in the store's file by now, mostly: nobody may ask again for long. */
  onPublished(collection: number): void {
    this.#recent.get(collection)?.trim();
  }

  /** Undefined where another thread has to answer. */
  *steps<G>(
    collection: number,
    asked: AskedQuery,
    index: CollectionIndex,
    partsOf: (eventual: boolean) => QueryParts<G>,
  ): Steps<AnsweredQuery | undefined> {
    try {
      const request = this.#deps.formatOf(asked.format)?.parse(asked.body, (name) => {
        if (name !== asked.from) throw new Declined();
        return index.schema;
      });
      if (request === undefined) return undefined;
      const { plans, isList } = request;
      const isEventual = plans.map(({ consistency }) => consistency === "eventual" && asked.mayBeEventual);
      if (isEventual.includes(true) && index.published !== asked.applied) return undefined;
      // All are of one moment, in which they were asked.
      const parts = isEventual.map(partsOf);
      const room = new RowRoom();
      const results: QueryResult[] = [];
      const runs: QueryRun[] = [];
      for (const [i, parsed] of plans.entries()) {
        const eventual = isEventual[i]!;
        const plan: QueryPlan = { ...parsed, consistency: eventual ? "eventual" : "strong" };
        const outcome = yield* executeSteps(plan, parts[i]!);
        const token = tokenAt(asked.stream, eventual ? asked.applied : asked.next);
        const load = this.#loader(collection, plan, asked.changes);
        const tookMs = () => Math.max(0, this.#clock.steadyMs() - asked.startedMs);
        const ownRoom = isList ? room.as(`queries[${i}].limit`) : room;
        const result = yield* buildResult(plan, outcome, load, token, tookMs, ownRoom);
        if (!this.#isOfOneMoment(collection, plan, asked.changes)) return undefined;
        results.push(result);
        runs.push({ kind: kindOf(plan), ms: tookMs(), eventual });
      }
      const next = isList ? undefined : isEventual[0] ? asked.applied : asked.next;
      return { body: yield* request.encode(results), runs, next };
    } catch (error) {
      // What can't be read here is told by the thread that owns the store.
      if (error instanceof Declined || error instanceof StoreError) return undefined;
      throw error;
    }
  }

  #recentOf(collection: number): RecentDocuments {
    let recent = this.#recent.get(collection);
    if (recent === undefined) {
      recent = new RecentDocuments(() => this.#storedChanges(collection));
      this.#recent.set(collection, recent);
    }
    return recent;
  }

  /** Fewer than there can be where they can't be read, so that nothing is taken for whole. */
  #storedChanges(collection: number): number {
    try {
      return readCollectionTotals(this.#deps.store, collection).changes;
    } catch {
      return -1;
    }
  }

  /** The rows must show the documents as the index had them; an eventual read may show newer ones. */
  #isOfOneMoment(collection: number, plan: QueryPlan, changes: number): boolean {
    const recent = this.#recentOf(collection);
    if (plan.consistency === "eventual") return recent.isCurrent(changes);
    return shownOf(plan) === "nothing" || recent.isWhole(changes);
  }

  #loader(collection: number, plan: QueryPlan, changes: number): LoadDocument {
    const eventual = plan.consistency === "eventual";
    const shown = shownOf(plan);
    if (shown === "nothing" && !eventual) return () => nothing;
    if (shown !== "source") {
      return ({ id, version }) => {
        const document = this.#document(collection, id, eventual ? undefined : version, changes);
        if (document === undefined) return undefined;
        return shown === "nothing" ? nothing : loaded(document);
      };
    }
    if (!this.#sources.follows(collection)) this.#sources.follow(collection, changes);
    return ({ id, version }) => {
      const known = this.#sources.find(collection, changes, id);
      if (known !== undefined) return known;
      const document = this.#document(collection, id, eventual ? undefined : version, changes);
      return document && this.#sources.parsed(collection, changes, id, decodeSource(document));
    };
  }

  /** Encoded: the one of the given version, or the newest, which may be gone. */
  #document(collection: number, id: number, version: number | undefined, changes: number): Uint8Array | undefined {
    const recent = this.#recentOf(collection).find(id);
    if (recent !== undefined) {
      // It was changed while the query ran.
      if (version !== undefined && (recent.change > changes || recent.document === undefined)) throw new Declined();
      return recent.document;
    }
    const key = documentKey(collection, id);
    const stored = this.#deps.store.get(key);
    const opened = stored && openStored(key, stored);
    if (version !== undefined && opened?.version !== version) throw new Declined();
    return opened?.document;
  }
}

const nothing: LoadedDocument = { source: {} };

function loaded(document: Uint8Array): LoadedDocument {
  const { source, vectors, sparse } = decodeDocument(document);
  return { source, characters: source.length, vectors, sparseVectors: sparse };
}
