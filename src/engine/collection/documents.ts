import type { Clock } from "../../port/clock.ts";
import type { Reader, Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { invalid } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Log } from "../log/log.ts";
import { type Filter, matchAll } from "../search/filter/filter.ts";
import type { Idempotency } from "../stream/idempotency.ts";
import type { TokenWaiter } from "../stream/token-waiter.ts";
import { type ConsistencyToken, tokenAt } from "../token.ts";
import { runInTurns, type Steps } from "../turns.ts";
import type { ApplyOptions } from "./apply-ops.ts";
import type { Catalog } from "./catalog.ts";
import { type CollectionMeta, documentKey, readCollectionTotals } from "./collection-store.ts";
import { decodeStored, type VersionedDocument } from "./document-codec.ts";
import { type DocumentWriter, requestOps, type WriteReply } from "./document-writer.ts";
import type { DocumentContent, WriteOp } from "./ops.ts";
import { type Cursor, cursorName, firstAbove, PinnedReads } from "./pinned-reads.ts";
import type { Pinned, Pins } from "./pins.ts";
import { prepareOps } from "./prepare-ops.ts";
import type { CollectionRuntime } from "./runtime.ts";
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

export interface FilterWrite {
  readonly filter: Filter;
  readonly maxDocuments: number;
  readonly cursor: Cursor | undefined;
}

export interface FilterWriteReply {
  readonly matched: number;
  readonly affected: number;
  readonly partial: boolean;
  readonly nextCursor: Cursor | undefined;
  readonly token: ConsistencyToken;
  readonly backlog: Backpressure;
}

export interface ScrollRequest {
  readonly filter: Filter | undefined;
  readonly limit: number;
  readonly cursor: Cursor | undefined;
}

export interface ScrollPage {
  readonly documents: readonly VersionedDocument[];
  readonly nextCursor: Cursor | undefined;
  /** What every page of the scroll reflects; another one tells that the scroll was given up and began anew. */
  readonly token: ConsistencyToken;
}

/** What the store has of a document. */
export interface StoredDocumentBytes {
  readonly collection: number;
  readonly bytes: Uint8Array;
  /** Verified, so it may fail. */
  decode(): VersionedDocument;
}

export interface DocumentsDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly pins: Pins;
  readonly log: Log;
  readonly writer: DocumentWriter;
  readonly clock: Clock;
  readonly tokens: TokenWaiter;
  readonly settings: CollectionSettings;
  /** Waits for what links bring into a collection; tells whether the token names any of their sources. */
  readonly filled: (meta: CollectionMeta, token: ConsistencyToken, signal?: AbortSignal) => Promise<boolean>;
}

/** Operations of one commit when many documents are written by a filter. */
const filterWriteStep = 500;
const filterOps: ApplyOptions = { pathOf: (_i, { kind }) => kind, skipMissing: true };

/** What a user does with documents. */
export class Documents {
  readonly #deps: DocumentsDeps;
  readonly #tokens: TokenWaiter;
  readonly #writer: DocumentWriter;
  readonly #reads: PinnedReads;

  constructor(deps: DocumentsDeps) {
    this.#deps = deps;
    this.#tokens = deps.tokens;
    this.#writer = deps.writer;
    this.#reads = new PinnedReads(deps);
  }

  find(ref: DocumentRef): CollectionMeta {
    return this.#deps.catalog.find(ref.namespace, ref.collection);
  }

  /** A batch of operations: logged as one record and applied in the same commit, all of them or none. */
  write(ref: DocumentRef, ops: readonly WriteOp[], bytes: number, idempotency?: Idempotency): Promise<WriteReply> {
    return this.#writer.write(this.find(ref), ops, bytes, idempotency, requestOps);
  }

  /** The documents of these ids in the order asked for. Documents change in the commit that acknowledges a write. */
  async get(ref: DocumentRef, ids: readonly number[], options: ReadOptions, signal?: AbortSignal) {
    const { runtime } = await this.reading(ref, options, signal);
    const { store, clock } = this.#deps;
    const { id } = runtime.meta;
    const token = this.token(runtime);
    if (ids.length === 1) return { documents: [readDocument(store, id, ids[0]!)], token };
    using snapshot = store.snapshot();
    return { documents: await runInTurns(readDocuments(snapshot, id, ids), clock), token };
  }

  /** One document as it is stored, read strongly and at once, for those who keep what they made of it. */
  stored(ref: DocumentRef, id: number): StoredDocumentBytes | undefined {
    const { store, runtimes, clock } = this.#deps;
    const runtime = runtimes.of(this.find(ref));
    runtime.lastUseMs = clock.nowMs();
    const key = documentKey(runtime.meta.id, id);
    const bytes = store.get(key);
    if (bytes === undefined) return undefined;
    return { collection: runtime.meta.id, bytes, decode: () => decodeStored(id, key, bytes) };
  }

  async count(ref: DocumentRef, filter: Filter | undefined, options: ReadOptions, signal?: AbortSignal) {
    const { runtime, eventual } = await this.reading(ref, options, signal);
    if (!eventual) await this.caughtUp(runtime);
    const token = eventual ? tokenAt(runtime.meta.streamId, runtime.manifest.applied) : this.token(runtime);
    if (filter === undefined && !eventual) return { count: runtime.totals.documents, token };
    return { count: await runtime.count(filter ?? matchAll, eventual, signal), token };
  }

  /**
   * Waits for a commit that the store has and the totals and the index were not told of yet: a read of documents may have
   * shown it already, and what is counted or found after that must not be older. Undefined where there is none.
   */
  caughtUp(runtime: CollectionRuntime): Promise<void> | undefined {
    const { store, committer } = this.#deps;
    if (!committer.isWriting || readCollectionTotals(store, runtime.meta.id).changes === runtime.totals.changes) {
      return undefined;
    }
    return committer.submit(() => undefined);
  }

  /** A page of documents by primary key. Every page of one scroll is of the same moment. */
  async scroll(ref: DocumentRef, page: ScrollRequest, options: ReadOptions, signal?: AbortSignal): Promise<ScrollPage> {
    const { runtime, eventual, wanted } = await this.reading(ref, options, signal);
    const { done, pinned, next } = await this.#reads.over(
      runtime,
      page.cursor,
      cursorName("read", runtime.meta.id, page.filter, options.eventual),
      (held) => reaches(runtime.meta, held.token, wanted),
      async (afterId) =>
        page.filter === undefined && !eventual
          ? this.#reads.pinAll(runtime)
          : this.#reads.pinMatches(runtime, page.filter, afterId, eventual, signal),
      (held, afterId) => this.#reads.page(runtime, held, afterId, page.limit),
    );
    return { documents: done.documents, nextCursor: next, token: pinned.token };
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
      condition: write.filter,
      ifVersion: version,
    }));
  }

  /** Patches what matches now, in steps; never creates a document. */
  async patchByFilter(
    ref: DocumentRef,
    write: FilterWrite,
    patch: DocumentContent,
    options: ReadOptions,
    signal?: AbortSignal,
  ): Promise<FilterWriteReply> {
    this.#checkPatch(ref, patch);
    return this.#writeByFilter(ref, write, options, signal, (id, version) => ({
      kind: "patch",
      id,
      ...patch,
      condition: write.filter,
      ifVersion: version,
    }));
  }

  /** A patch that fits no document is refused before it is looked for any. */
  #checkPatch(ref: DocumentRef, patch: DocumentContent): void {
    const { schema, schemaVersion } = this.find(ref);
    const op: WriteOp = { kind: "patch", id: 0, ...patch, condition: undefined, ifVersion: undefined };
    const steps = prepareOps([op], schema, schemaVersion, filterOps.pathOf);
    while (!steps.next().done);
  }

  async #writeByFilter(
    ref: DocumentRef,
    write: FilterWrite,
    options: ReadOptions,
    signal: AbortSignal | undefined,
    opOf: (id: number, version: number) => WriteOp,
  ): Promise<FilterWriteReply> {
    const { runtime, wanted } = await this.reading(ref, options, signal);
    const { done, next } = await this.#reads.over(
      runtime,
      write.cursor,
      cursorName("write", runtime.meta.id, write.filter, false),
      (held) => reaches(runtime.meta, held.token, wanted),
      async (afterId) => {
        const { snapshot, ...rest } = await this.#reads.pinMatches(runtime, write.filter, afterId, false, signal);
        // The versions guard every write, so that the documents themselves need not be kept.
        snapshot?.[Symbol.dispose]();
        return { ...rest, snapshot: undefined };
      },
      (held, afterId) => this.#writeMatches(runtime, held, afterId, write.maxDocuments, signal, opOf),
    );
    const { nextAfterId: _, ...reply } = done;
    return {
      ...reply,
      partial: next !== undefined,
      nextCursor: next,
      backlog: backpressureOf(runtime, this.#deps.settings),
    };
  }

  async #writeMatches(
    runtime: CollectionRuntime,
    { matches, token: found }: Pinned,
    afterId: number,
    maxDocuments: number,
    signal: AbortSignal | undefined,
    opOf: (id: number, version: number) => WriteOp,
  ) {
    const { ids, versions } = matches!;
    const from = firstAbove(ids, afterId);
    const to = Math.min(ids.length, from + maxDocuments);
    let at = from;
    let affected = 0;
    let token = this.token(runtime);
    // A document that was deleted and made anew may have the version that was found, and match no longer: as soon as others
    // have written, the filter is asked again.
    let settledAt = nextOf(found);
    while (at < to) {
      // Nobody waits for the answer any more: what was written stays, and nothing is added to it.
      signal?.throwIfAborted();
      if (at > from && backpressureOf(runtime, this.#deps.settings).throttled) break;
      const end = Math.min(at + filterWriteStep, to);
      const ops: WriteOp[] = [];
      for (; at < end; at++) ops.push(opOf(ids[at]!, versions[at]!));
      const bytes = ops.length * limits.filterWriteOpBytes;
      // Never looked up by its name again: what an alias means may change between two steps.
      const reply = await this.#writer.write(runtime.meta, ops, bytes, undefined, { ...filterOps, settledAt });
      token = reply.token;
      const written = reply.results.filter(({ status }) => status === "deleted" || status === "updated").length;
      affected += written;
      if (nextOf(token) === settledAt + (written > 0 ? 1 : 0)) settledAt = nextOf(token);
    }
    return { matched: at - from, affected, token, nextAfterId: at < ids.length ? ids[at - 1] : undefined };
  }

  /** The collection, once it has what the read's token names. */
  async reading(ref: DocumentRef, { token, eventual }: ReadOptions, signal?: AbortSignal) {
    const runtime = this.#deps.runtimes.of(this.find(ref));
    if (token.length > 0) await this.#tokens.wait(runtime.stream, token, 0, signal);
    const isFilled =
      token.some(({ stream }) => stream !== runtime.stream.id) &&
      (await this.#deps.filled(runtime.meta, token, signal));
    // What a link has applied is in the collection's own log by now.
    const wanted = isFilled ? [...token, ...this.token(runtime)] : token;
    runtime.lastUseMs = this.#deps.clock.nowMs();
    // A token is a promise that the read reflects it, which the last manifest may not.
    const published = tokenAt(runtime.meta.streamId, runtime.manifest.applied);
    return { runtime, eventual: eventual && reaches(runtime.meta, published, wanted), wanted };
  }

  /**
   * The collection for a read that need not wait for anything: its index is open, and it has all that the token names.
   * Undefined where that is not so, or not known at once.
   */
  readingNow(meta: CollectionMeta, token: ConsistencyToken) {
    const { runtimes, clock } = this.#deps;
    const runtime = runtimes.of(meta);
    if (runtime.state !== "hot") return undefined;
    if (token.some(({ stream }) => stream !== meta.streamId) || !reaches(meta, this.token(runtime), token)) {
      return undefined;
    }
    runtime.lastUseMs = clock.nowMs();
    const published = tokenAt(meta.streamId, runtime.manifest.applied);
    return { runtime, mayBeEventual: reaches(meta, published, token) };
  }

  /** What a read of the collection reflects. */
  token(runtime: CollectionRuntime): ConsistencyToken {
    return tokenAt(runtime.meta.streamId, this.#deps.log.highWatermark(runtime.stream, 0));
  }
}

/** The offset after the last record that a token of a collection names. */
function nextOf(token: ConsistencyToken): number {
  return (token[0]?.offset ?? -1) + 1;
}

/** Whether what reflects one token of a collection reflects all that another names of it. */
function reaches(meta: CollectionMeta, held: ConsistencyToken, wanted: ConsistencyToken): boolean {
  const offset = held[0]?.offset ?? -1;
  return wanted.every((entry) => entry.stream !== meta.streamId || entry.partition !== 0 || entry.offset <= offset);
}

function readDocument(reader: Pick<Reader, "get">, collectionId: number, id: number): VersionedDocument | undefined {
  const key = documentKey(collectionId, id);
  const stored = reader.get(key);
  return stored === undefined ? undefined : decodeStored(id, key, stored);
}

function* readDocuments(
  reader: Pick<Reader, "get">,
  collectionId: number,
  ids: readonly number[],
): Steps<(VersionedDocument | undefined)[]> {
  const documents: (VersionedDocument | undefined)[] = [];
  let bytes = 0;
  for (const id of ids) {
    const key = documentKey(collectionId, id);
    const stored = reader.get(key);
    bytes += stored?.length ?? 0;
    if (bytes > limits.getBytesMax) {
      const most = `${limits.getBytesMax} bytes of documents`;
      throw invalid("ids", `name more than ${most}; ask for fewer at once, the first ${documents.length} fit`);
    }
    documents.push(stored && decodeStored(id, key, stored));
    yield;
  }
  return documents;
}
