import assert from "node:assert/strict";
import { nextTurn } from "../../port/next-turn.ts";
import type { SharedSegments } from "../../port/shared-bytes.ts";
import type { Store } from "../../port/store.ts";
import { EngineError, notFound, unavailable } from "../errors.ts";
import type { Log, LogStream } from "../log/log.ts";
import type { AnsweredQuery, AskedQuery } from "../retrieval/format.ts";
import { type QueryOutcome, unpackOutcome } from "../retrieval/outcome.ts";
import type { SearchPlan } from "../retrieval/plan.ts";
import { cancellable, type RunningQuery } from "../retrieval/stopped.ts";
import { formatSchema } from "../schema/schema-parse.ts";
import type { Filter } from "../search/filter/filter.ts";
import { type CollectionMeta, type CollectionTotals, type Manifest, manifestBytes } from "./collection-store.ts";
import { documentsOf } from "./document-codec.ts";
import type { FrozenTail, IndexQuery, IndexQuestion, MatchReply } from "./index/messages.ts";
import { damagedObject } from "./index/segment-loader.ts";
import { IndexSession } from "./index-session.ts";
import type { IndexThreads } from "./index-threads.ts";

/** Searches under way in each thread that takes part, from which on another one does. */
const searchesToShare = 2;
/** Writes without a search after which a thread no longer takes part: each costs it as much as the first. */
const writesUnsearchedMax = 1_000;

/** Turns of the event loop after which a commit that has been made is heard of in any case. */
const unheardTurnsMax = 10_000;

/** What is kept in memory of a collection in use. */
export class CollectionRuntime {
  meta: CollectionMeta;
  manifest: Manifest;
  totals: CollectionTotals;
  lastWriteMs = 0;
  /** When the oldest change that no segment holds was written. */
  tailSinceMs: number | undefined;
  lastUseMs = 0;
  /** Strong searches up to now; an eventual one does not read the tail. */
  strongSearches = 0;
  /** Batches of operations that are being written. */
  writing = 0;
  /**
   * Told of every committed write: its changes, the offset after its record and the count of all changes. By who asked
   * for it.
   */
  readonly followers = new Map<object, (changes: Uint8Array, next: number, total: number) => void>();
  /** An object of the index can't be trusted: it is made again from the documents before it is used. */
  damaged = false;
  /** Another node makes its index, and may replace it at any time. */
  follows = false;
  /** Changes before this offset were indexed without the fields that were added since. */
  #fieldsSince = 0;
  readonly stream: LogStream;
  readonly #threads: IndexThreads;
  readonly #log: Log;
  readonly #store: Store;
  readonly #onDamage: (error: unknown) => void;
  /** By thread. Without the first one, none of the others is there. */
  readonly #sessions: (IndexSession | undefined)[] = [];
  /** What the first thread has loaded. */
  #shared: SharedSegments = {};
  /** Manifests that the first thread has yet to go over to. */
  #publishing = 0;
  #dropped = false;

  constructor(
    meta: CollectionMeta,
    manifest: Manifest,
    totals: CollectionTotals,
    threads: IndexThreads,
    log: Log,
    store: Store,
    onDamage: (error: unknown) => void,
  ) {
    this.meta = meta;
    this.manifest = manifest;
    this.totals = totals;
    // The thread of SQL reads its log from the store.
    this.stream = { id: meta.streamId, partitions: 1, retention: undefined };
    this.#threads = threads;
    this.#log = log;
    this.#store = store;
    this.#onDamage = onDamage;
  }

  get backlogRecords(): number {
    return this.totals.changes - this.manifest.totals.changes;
  }

  get backlogBytes(): number {
    return this.totals.bytes - this.manifest.totals.bytes;
  }

  /** What the index takes in memory, about: its segments and graphs, and a tail. */
  get openBytes(): number {
    let loaded = 0;
    for (const { length } of Object.values(this.#shared)) loaded += length;
    return Math.max(loaded, manifestBytes(this.manifest)) + this.backlogBytes;
  }

  /** Documents of the tail may have values for fields that were added after them. */
  get tailLacksFields(): boolean {
    return this.backlogRecords > 0 && this.manifest.applied < this.#fieldsSince;
  }

  get #first(): IndexSession | undefined {
    return this.#sessions[0];
  }

  get state(): "cold" | "loading" | "hot" {
    if (this.#first === undefined) return "cold";
    return this.#first.loaded ? "hot" : "loading";
  }

  /** The manifest that is being opened; its objects must stay until they are read. */
  get openingManifest(): Manifest | undefined {
    return this.#sessions.find((session) => session?.loaded === false)?.manifest;
  }

  /** Opens the index and brings it up to what is durable; later changes follow by `onCommitted`. */
  open(): Promise<void> {
    if (this.#dropped) return Promise.reject(notFound("the collection was dropped"));
    if (this.#first !== undefined) return this.#first.ready;
    if (this.damaged) return Promise.reject(rebuilding());
    const session = this.#startSession(0);
    session.ready = this.#load(session).catch((error: unknown) => {
      this.#closeFailed(session);
      // With the collection its objects go.
      if (this.#dropped) throw error;
      // What it was opened from is no longer there.
      if (this.follows && this.manifest !== session.manifest) return this.open();
      if (this.follows && damagedObject(error) !== undefined) throw unavailable("the index is being replaced; retry");
      if (damagedObject(error) === undefined) throw error;
      this.markDamaged(error);
      throw rebuilding();
    });
    return session.ready;
  }

  /** Lets another thread take part in searching, as soon as it has what the first one has. */
  #openFurther(place: number): void {
    const session = this.#startSession(place);
    session.ready = this.#load(session).catch(() => {
      // It is not needed: the first thread answers, and a later query tries again.
      this.#closeFailed(session);
    });
  }

  #startSession(place: number): IndexSession {
    const session = new IndexSession(this.#threads.all[place]!, place, this.meta.id, this.manifest);
    this.#sessions[place] = session;
    return session;
  }

  async #load(session: IndexSession): Promise<void> {
    let { schemaVersion } = this.meta;
    const { manifest, place } = session;
    const end = () => this.#log.highWatermark(this.stream, 0);
    session.hold(end());
    const shared = await session.open(formatSchema(this.meta.schema), this.#shared);
    this.#check(session);
    if (place === 0) this.#shared = shared;
    const check = () => {
      this.#check(session);
      // The index is to know the fields before the documents that have them.
      if (this.meta.schemaVersion !== schemaVersion) session.sendSchema(formatSchema(this.meta.schema));
      ({ schemaVersion } = this.meta);
    };
    const find = documentsOf(this.#store, this.meta.id);
    let next = manifest.applied;
    for (let waits = 0; ; ) {
      check();
      session.hold(end());
      const until = session.heldFrom;
      if (next < until) {
        if (next > manifest.applied) {
          await session.taken();
          check();
        }
        next = await session.replayFrom(this.#log, this.stream, next, until, find, check);
        continue;
      }
      next = session.sendHeld();
      if (next === end() && session.outdated.size === 0) break;
      if (waits++ === unheardTurnsMax) throw unavailable("a write of the collection is still under way; retry");
      session.hold(next);
      await nextTurn();
    }
    // In one turn with the last look at the log: from here on changes are sent as they are committed.
    session.following = true;
    session.loaded = true;
    // What was sent to catch up costs it nothing any more.
    session.changesUnsearched = 0;
    if (this.manifest === manifest) return;
    if (place === 0) this.#publishAll(this.manifest);
    else session.publish(this.manifest, this.#shared).catch(() => {});
  }

  /** A session that was ended meanwhile, or whose log was sealed without it, can't go on. */
  #check(session: IndexSession): void {
    if (this.#sessions[session.place] !== session || this.manifest.applied !== session.manifest.applied) {
      throw unavailable("the collection's index was closed while it was opened; retry");
    }
  }

  /** Asks the index, which is opened first where it is not. */
  ask<T>(question: IndexQuestion): Promise<T> {
    return this.#opened(() => this.askNow<T>(question));
  }

  /** When the index's thread is lost meanwhile, it is opened anew and asked once more. */
  async #opened<T>(ask: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.open();
        return await ask();
      } catch (error) {
        const lost = error instanceof EngineError && error.reason === "unavailable";
        if (!lost || attempt === 2 || this.damaged) throw error;
        await nextTurn();
      }
    }
  }

  /** Asks the open index in this very turn, so that the answer is about exactly what is committed now. */
  async askNow<T>(question: IndexQuestion): Promise<T> {
    const session = this.#first;
    if (session?.loaded !== true) throw unavailable("the collection's index was closed; retry");
    try {
      return await this.#threads.all[0]!.request<T>({ ...question, collection: this.meta.id });
    } catch (error) {
      this.#endIfLost(session, error);
      throw error;
    }
  }

  /** Searches in this very turn, like `askNow`, in the thread that has the least to do. */
  search(plan: SearchPlan): RunningQuery<QueryOutcome> {
    const eventual = plan.consistency === "eventual";
    if (!eventual) this.strongSearches++;
    return this.#search({ kind: "search", plan }, eventual, unpackOutcome);
  }

  /** The same for a query that the thread is to read and answer; undefined when it declines. */
  answer(asked: AskedQuery): RunningQuery<AnsweredQuery | undefined> {
    return this.#search({ kind: "answer", asked }, false, (answered: AnsweredQuery | undefined) => {
      for (const { eventual } of answered?.runs ?? []) if (!eventual) this.strongSearches++;
      return answered;
    });
  }

  match(question: Omit<Extract<IndexQuery, { kind: "match" }>, "kind">): RunningQuery<MatchReply> {
    return this.#search({ kind: "match", ...question }, question.eventual, (found: MatchReply) => found);
  }

  /** The index is opened first where it is not. */
  count(filter: Filter, eventual: boolean, signal: AbortSignal | undefined): Promise<number> {
    const question = { kind: "count", filter, eventual } as const;
    return this.#opened(() =>
      cancellable(
        this.#search(question, eventual, (count: number) => count),
        signal,
      ),
    );
  }

  #search<T, U>(question: IndexQuery, eventual: boolean, read: (found: T) => U): RunningQuery<U> {
    const session = this.#leastBusy(eventual);
    if (session === undefined) throw unavailable("the collection's index was closed; retry");
    session.changesUnsearched = 0;
    const query = this.#threads.nextQuery();
    const search = this.#threads.search<T>(session.place, { ...question, query, collection: this.meta.id });
    const outcome = search.then(read, (error: unknown) => {
      this.#endIfLost(session, error);
      throw error;
    });
    return { outcome, cancel: () => session.cancel(query) };
  }

  /** An eventual read sees the last manifest, so only a thread that was told of it may answer. */
  #leastBusy(eventual: boolean): IndexSession | undefined {
    const first = this.#first;
    if (first?.loaded !== true) return undefined;
    let best = first;
    let unopened: number | undefined;
    let isOpening = false;
    for (let place = 1; place < this.#threads.all.length; place++) {
      const session = this.#sessions[place];
      if (session === undefined) unopened ??= place;
      else if (!session.loaded) isOpening = true;
      else if (eventual && session.sentManifest !== this.manifest) continue;
      else if (this.#threads.searching(place) < this.#threads.searching(best.place)) best = session;
    }
    // One after another, as long as all that are there are busy: each costs a tail of its own, and every write one more
    // message. While the first thread still loads what a manifest names, another would load it a second time.
    const isBusy = this.#threads.searching(best.place) >= searchesToShare;
    if (unopened !== undefined && isBusy && !isOpening && this.#publishing === 0) this.#openFurther(unopened);
    return best;
  }

  /** What a thread no longer has must not be taken for open. */
  #endIfLost(session: IndexSession, error: unknown): void {
    if (error instanceof EngineError && error.reason === "unavailable") this.#end(session);
  }

  /** Everything committed up to now becomes a segment; called in one turn with the look at the log's end. */
  async freeze(upTo: number): Promise<FrozenTail> {
    const [first, ...others] = this.#sessions;
    if (first !== undefined) first.frozenAt = upTo;
    for (const session of others) if (session?.following) session.freeze(upTo);
    return this.askNow<FrozenTail>({ kind: "freeze", upTo });
  }

  /** Writes were committed: `next` is the offset after the last one's record. The changes are taken over. */
  onCommitted(next: number, changes: Uint8Array, totals: CollectionTotals, nowMs: number): void {
    // Its segment needs the index soon, which has nothing to read again yet.
    if (this.backlogRecords === 0 && this.#first === undefined && !this.follows) this.open().catch(() => {});
    this.totals = totals;
    this.lastWriteMs = nowMs;
    this.lastUseMs = nowMs;
    this.tailSinceMs ??= nowMs;
    for (const follow of this.followers.values()) follow(changes, next, totals.changes);
    const listening = this.#sessions.filter((session): session is IndexSession => session?.listens === true);
    for (const session of listening) {
      if (session.place > 0 && session.changesUnsearched >= writesUnsearchedMax) this.#close(session);
      else session.onCommitted({ next, changes, isOwned: listening.length === 1 }, totals.changes);
    }
  }

  onMeta(meta: CollectionMeta): void {
    const before = this.meta;
    this.meta = meta;
    if (meta.schemaVersion === before.schemaVersion) return;
    if (meta.fillVersion !== before.fillVersion) this.#fieldsSince = this.#log.highWatermark(this.stream, 0);
    for (const session of this.#sessions) if (session?.following) session.sendSchema(formatSchema(meta.schema));
  }

  onPublished(manifest: Manifest, nowMs: number): void {
    const before = this.manifest;
    this.manifest = manifest;
    this.tailSinceMs = this.backlogRecords === 0 ? undefined : nowMs;
    const isOpen = this.#first?.following === true;
    const shared = this.#shared;
    for (const session of this.#sessions) {
      if (session?.following && !session.fits(manifest, before)) this.#close(session);
    }
    if (this.#first?.following) this.#publishAll(manifest);
    else if (this.follows && isOpen) {
      // Only what is new of it has to be read.
      this.#shared = shared;
      this.open().catch(() => {});
    }
  }

  /** Whether anybody is told of the changes. */
  get isFollowed(): boolean {
    return this.followers.size > 0 || this.#sessions.some((session) => session?.listens);
  }

  /** The first thread loads what is new; the others then take what it has loaded. */
  #publishAll(manifest: Manifest): void {
    const first = this.#first!;
    this.#publishing++;
    first
      .publish(manifest, {})
      .then((shared) => {
        // A later manifest is on its way, and takes the place of this one.
        if (this.#first !== first || this.manifest !== manifest) return;
        this.#shared = shared;
        for (const session of this.#sessions) {
          if (session?.following && session.sentManifest !== manifest)
            session.publish(manifest, shared).catch(() => {});
        }
      })
      // The thread has closed what could not go over; the next question finds that out and opens it anew.
      .catch(() => {})
      .finally(() => {
        this.#publishing--;
        assert(this.#publishing >= 0, "a publication ends once");
      });
  }

  markDamaged(cause: unknown): void {
    if (this.damaged) return;
    this.damaged = true;
    this.#onDamage(cause);
  }

  /** A thread that held the index is gone; the next use opens it anew. */
  onLost(place: number): void {
    const session = this.#sessions[place];
    if (session !== undefined) this.#end(session);
  }

  close(): void {
    if (this.#first !== undefined) this.#close(this.#first);
  }

  drop(): void {
    this.#dropped = true;
    this.close();
  }

  #close(session: IndexSession): void {
    this.#end(session);
    session.close();
  }

  /** Its thread may have opened the index before it failed. Once another session has taken its place, that one's must stay open. */
  #closeFailed(session: IndexSession): void {
    if (this.#sessions[session.place] === session) this.#close(session);
  }

  /** With the first thread's session all others end: a collection is open there or nowhere. */
  #end(session: IndexSession): void {
    session.end();
    if (this.#sessions[session.place] !== session) return;
    this.#sessions[session.place] = undefined;
    if (session.place > 0) return;
    this.#shared = {};
    for (const other of this.#sessions) if (other !== undefined) this.#close(other);
  }
}

function rebuilding(): EngineError {
  return unavailable("the collection's index is damaged and is being made again from its documents; retry");
}
