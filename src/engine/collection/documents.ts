import type { Clock } from "../../port/clock.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Log } from "../log/log.ts";
import { type Filter, matchAll } from "../search/filter/filter.ts";
import type { Idempotency, IdempotencyRecords } from "../stream/idempotency.ts";
import { TokenWaiter } from "../stream/token-waiter.ts";
import type { ConsistencyToken } from "../token.ts";
import type { Catalog } from "./catalog.ts";
import { type CollectionMeta, documentIdOf, documentKey } from "./collection-store.ts";
import { checkNotThrottled } from "./collections.ts";
import { decodeStored, type VersionedDocument } from "./document-codec.ts";
import { type DocumentWriter, tokenAt } from "./document-writer.ts";
import type { MatchReply } from "./index/messages.ts";
import type { DocumentContent, OpResult, WriteOp } from "./ops.ts";
import type { CollectionRuntime, IndexThread } from "./runtime.ts";
import type { Runtimes } from "./runtimes.ts";
import { type Backpressure, backpressureOf, type CollectionSettings } from "./settings.ts";

export interface DocumentRef {
  readonly namespace: string;
  readonly collection: string;
}

/** How a read is to be made. */
export interface ReadOptions {
  readonly token: ConsistencyToken;
  readonly eventual: boolean;
}

export interface WriteReply {
  readonly token: ConsistencyToken;
  readonly results: readonly OpResult[];
  readonly replayed: boolean;
  readonly backlog: Backpressure;
}

export interface FilterWrite {
  readonly filter: Filter;
  readonly maxDocuments: number;
  readonly afterId: number;
}

export interface FilterWriteReply {
  readonly matched: number;
  readonly affected: number;
  readonly partial: boolean;
  readonly nextAfterId: number | undefined;
  readonly token: ConsistencyToken;
  readonly backlog: Backpressure;
}

export interface ScrollPage {
  readonly documents: readonly VersionedDocument[];
  readonly nextAfterId: number | undefined;
  readonly token: ConsistencyToken;
}

export interface DocumentsDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly writer: DocumentWriter;
  readonly index: IndexThread;
  readonly log: Log;
  readonly idempotency: IdempotencyRecords;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
}

/** Operations of one commit when many documents are written by a filter. */
const filterWriteStep = 500;

/** What a user does with documents. */
export class Documents {
  readonly #deps: DocumentsDeps;
  readonly #tokens: TokenWaiter;

  constructor(deps: DocumentsDeps) {
    this.#deps = deps;
    this.#tokens = new TokenWaiter(deps.log, deps.clock);
  }

  find(ref: DocumentRef): CollectionMeta {
    return this.#deps.catalog.find(ref.namespace, ref.collection);
  }

  /** A batch of operations: logged as one record and applied in the same commit, all of them or none. */
  async write(
    ref: DocumentRef,
    ops: readonly WriteOp[],
    bytes: number,
    idempotency?: Idempotency,
  ): Promise<WriteReply> {
    const { settings, runtimes, committer, writer, idempotency: records } = this.#deps;
    const meta = this.find(ref);
    const runtime = runtimes.of(meta);
    checkNotThrottled(runtime, settings);
    const done = await committer.submit((draft) => {
      const current = this.#deps.catalog.staged(draft, meta);
      if (idempotency !== undefined) {
        const recorded = records.replay<Pick<WriteReply, "token" | "results">>(draft, meta.streamId, idempotency);
        if (recorded !== undefined) return { ...recorded, replayed: true };
      }
      const reply = writer.stage(draft, current, ops);
      if (idempotency !== undefined) records.record(draft, meta.streamId, idempotency, reply);
      return { ...reply, replayed: false };
    }, bytes);
    return { ...done, backlog: backpressureOf(runtime, settings) };
  }

  /** The documents of these ids in the order asked for. Documents change in the commit that acknowledges a write. */
  async get(ref: DocumentRef, ids: readonly number[], options: ReadOptions, signal?: AbortSignal) {
    const runtime = await this.#reading(ref, options, signal);
    const { store } = this.#deps;
    const documents = ids.map((id): VersionedDocument | undefined => {
      const stored = store.get(documentKey(runtime.meta.id, id));
      return stored === undefined ? undefined : decodeStored(id, stored);
    });
    return { documents, token: this.token(runtime) };
  }

  async count(ref: DocumentRef, filter: Filter | undefined, options: ReadOptions, signal?: AbortSignal) {
    const runtime = await this.#reading(ref, options, signal);
    const token = this.token(runtime);
    if (filter === undefined && !options.eventual) return { count: runtime.totals.documents, token };
    await runtime.open();
    const { eventual } = options;
    const collection = runtime.meta.id;
    const count = await this.#deps.index.request<number>({
      kind: "count",
      collection,
      filter: filter ?? matchAll,
      eventual,
    });
    return { count, token };
  }

  /** Documents by primary key, after one of them. */
  async scroll(
    ref: DocumentRef,
    page: { readonly filter: Filter | undefined; readonly afterId: number; readonly limit: number },
    options: ReadOptions,
    signal?: AbortSignal,
  ): Promise<ScrollPage> {
    const runtime = await this.#reading(ref, options, signal);
    const token = this.token(runtime);
    const documents =
      page.filter === undefined && !options.eventual
        ? this.#scan(runtime.meta.id, page.afterId, page.limit + 1)
        : await this.#scanMatches(
            runtime,
            { ...page, filter: page.filter ?? matchAll, limit: page.limit + 1 },
            options,
          );
    const more = documents.length > page.limit;
    const kept = documents.slice(0, page.limit);
    return { documents: kept, nextAfterId: more ? kept.at(-1)!.id : undefined, token };
  }

  /** Deletes what matches now, in steps; a document that changes meanwhile is left as it is. */
  deleteByFilter(
    ref: DocumentRef,
    write: FilterWrite,
    options: ReadOptions,
    signal?: AbortSignal,
  ): Promise<FilterWriteReply> {
    return this.#writeByFilter(ref, write, options, signal, (id, version) => ({
      kind: "delete",
      id,
      condition: undefined,
      ifVersion: version,
    }));
  }

  /** Patches what matches now, in steps; never creates a document. */
  patchByFilter(
    ref: DocumentRef,
    write: FilterWrite,
    patch: DocumentContent,
    options: ReadOptions,
    signal?: AbortSignal,
  ): Promise<FilterWriteReply> {
    return this.#writeByFilter(ref, write, options, signal, (id, version) => ({
      kind: "patch",
      id,
      ...patch,
      condition: undefined,
      ifVersion: version,
    }));
  }

  async #writeByFilter(
    ref: DocumentRef,
    write: FilterWrite,
    options: ReadOptions,
    signal: AbortSignal | undefined,
    opOf: (id: number, version: number) => WriteOp,
  ): Promise<FilterWriteReply> {
    const { settings, store } = this.#deps;
    const runtime = await this.#reading(ref, options, signal);
    const found = await this.#match(runtime, write.filter, write.afterId, write.maxDocuments, false);
    let affected = 0;
    let done = 0;
    let token = this.token(runtime);
    while (done < found.ids.length) {
      // Nobody waits for the answer any more: what was written stays, and nothing is added to it.
      signal?.throwIfAborted();
      if (done > 0 && backpressureOf(runtime, settings).throttled) break;
      const ops: WriteOp[] = [];
      for (let i = done; i < Math.min(done + filterWriteStep, found.ids.length); i++) {
        const id = found.ids[i]!;
        // A document that has gone since is no failure of a filter.
        if (store.get(documentKey(runtime.meta.id, id)) !== undefined) ops.push(opOf(id, found.versions[i]!));
      }
      done = Math.min(done + filterWriteStep, found.ids.length);
      if (ops.length === 0) continue;
      const reply = await this.write(ref, ops, ops.length * 256);
      token = reply.token;
      affected += reply.results.filter(({ status }) => status === "deleted" || status === "updated").length;
    }
    const partial = done < found.total;
    return {
      matched: done,
      affected,
      partial,
      nextAfterId: partial && done > 0 ? found.ids[done - 1] : undefined,
      token,
      backlog: backpressureOf(runtime, settings),
    };
  }

  #scan(collectionId: number, afterId: number, limit: number): VersionedDocument[] {
    const from = documentKey(collectionId, afterId + 1);
    const to = documentKey(collectionId + 1, 0);
    const found: VersionedDocument[] = [];
    for (const { key, value } of this.#deps.store.range({ from, to, limit })) {
      found.push(decodeStored(documentIdOf(key), value));
    }
    return found;
  }

  async #scanMatches(
    runtime: CollectionRuntime,
    page: { readonly filter: Filter; readonly afterId: number; readonly limit: number },
    options: ReadOptions,
  ): Promise<VersionedDocument[]> {
    const { store } = this.#deps;
    const found = await this.#match(runtime, page.filter, page.afterId, page.limit, options.eventual);
    const documents: VersionedDocument[] = [];
    for (const id of found.ids) {
      const stored = store.get(documentKey(runtime.meta.id, id));
      if (stored !== undefined) documents.push(decodeStored(id, stored));
    }
    return documents;
  }

  async #match(runtime: CollectionRuntime, filter: Filter, afterId: number, limit: number, eventual: boolean) {
    await runtime.open();
    const collection = runtime.meta.id;
    return this.#deps.index.request<MatchReply>({ kind: "match", collection, filter, afterId, limit, eventual });
  }

  /** The collection, once it has what the read's token names. */
  async #reading(ref: DocumentRef, options: ReadOptions, signal?: AbortSignal): Promise<CollectionRuntime> {
    const runtime = this.#deps.runtimes.of(this.find(ref));
    if (options.token.length > 0) await this.#tokens.wait(runtime.stream, options.token, 0, signal);
    runtime.lastUseMs = this.#deps.clock.nowMs();
    return runtime;
  }

  /** What a read of the collection reflects. */
  token(runtime: CollectionRuntime): ConsistencyToken {
    return tokenAt(runtime.meta.streamId, this.#deps.log.highWatermark(runtime.stream, 0));
  }
}
