import { EngineError, notFound, unavailable } from "../errors.ts";
import type { Log, LogStream } from "../log/log.ts";
import type { CollectionMeta, CollectionTotals, Manifest } from "./collection-store.ts";
import { type IndexThread, yieldTurn } from "./engine-thread.ts";
import { damagedObject } from "./index/damage.ts";
import type { FrozenDeletes, IndexQuestion } from "./index/messages.ts";
import { formatSchema } from "./schema-parse.ts";

/** Bytes of the log that are handed to the index thread before it is waited for. */
const replayPieceBytes = 1024 * 1024;

/** One opening of the index: what the index thread holds came from this manifest and every change since. */
interface Session {
  readonly manifest: Manifest;
  ready: Promise<void>;
  /** Changes are sent to the index as they are committed. */
  following: boolean;
  /** Every change up to the opening has been taken. */
  loaded: boolean;
  /** The offset at which the tail was frozen last; only a manifest that goes up to it fits this session. */
  frozenAt: number | undefined;
}

/** What is kept in memory of a collection in use. */
export class CollectionRuntime {
  meta: CollectionMeta;
  manifest: Manifest;
  totals: CollectionTotals;
  lastWriteMs = 0;
  /** When the oldest change that no segment holds was written. */
  tailSinceMs: number | undefined;
  lastUseMs = 0;
  /** Told of every committed write: its changes, the offset after its record and the count of all changes. */
  follower: ((changes: Uint8Array, next: number, total: number) => void) | undefined;
  /** An object of the index can't be trusted: it is made again from the documents before it is used. */
  damaged = false;
  /** Changes before this offset were indexed without the fields that were added since. */
  #fieldsSince = 0;
  readonly stream: LogStream;
  readonly #index: IndexThread;
  readonly #log: Log;
  readonly #onDamage: (error: unknown) => void;
  #session: Session | undefined;
  #dropped = false;

  constructor(
    meta: CollectionMeta,
    manifest: Manifest,
    totals: CollectionTotals,
    index: IndexThread,
    log: Log,
    onDamage: (error: unknown) => void,
  ) {
    this.meta = meta;
    this.manifest = manifest;
    this.totals = totals;
    this.stream = { id: meta.streamId, partitions: 1, retention: undefined };
    this.#index = index;
    this.#log = log;
    this.#onDamage = onDamage;
  }

  get backlogRecords(): number {
    return this.totals.changes - this.manifest.totals.changes;
  }

  get backlogBytes(): number {
    return this.totals.bytes - this.manifest.totals.bytes;
  }

  /** Documents of the tail may have values for fields that were added after them. */
  get tailLacksFields(): boolean {
    return this.backlogRecords > 0 && this.manifest.applied < this.#fieldsSince;
  }

  get state(): "cold" | "loading" | "hot" {
    if (this.#session === undefined) return "cold";
    return this.#session.loaded ? "hot" : "loading";
  }

  /** The manifest that is being opened; its objects must stay until they are read. */
  get openingManifest(): Manifest | undefined {
    return this.#session?.loaded === false ? this.#session.manifest : undefined;
  }

  /** Opens the index and brings it up to what is durable; later changes follow by `onCommitted`. */
  open(): Promise<void> {
    if (this.#dropped) return Promise.reject(notFound("the collection was dropped"));
    if (this.#session !== undefined) return this.#session.ready;
    if (this.damaged) return Promise.reject(rebuilding());
    const session: Session = {
      manifest: this.manifest,
      ready: Promise.resolve(),
      following: false,
      loaded: false,
      frozenAt: undefined,
    };
    this.#session = session;
    session.ready = this.#open(session).catch((error: unknown) => {
      this.#end(session);
      if (damagedObject(error) === undefined) throw error;
      this.markDamaged(error);
      throw rebuilding();
    });
    return session.ready;
  }

  async #open(session: Session): Promise<void> {
    const { id, schema, schemaVersion } = this.meta;
    const { manifest } = session;
    await this.#index.request({ kind: "open", collection: id, schema: formatSchema(schema), manifest });
    let next = manifest.applied;
    this.#check(session);
    while (next < this.#log.highWatermark(this.stream, 0)) {
      next = await this.#replayFrom(next);
      this.#check(session);
    }
    // In one turn with the last look at the log: from here on changes are sent as they are committed.
    session.following = true;
    session.loaded = true;
    if (this.meta.schemaVersion !== schemaVersion) this.#sendSchema();
    if (this.manifest !== manifest) this.#index.post({ kind: "publish", collection: id, manifest: this.manifest });
  }

  /** A session that was ended meanwhile, or whose log was sealed without it, can't go on. */
  #check(session: Session): void {
    if (this.#session !== session || this.manifest.applied !== session.manifest.applied) {
      throw unavailable("the collection's index was closed while it was opened; retry");
    }
  }

  /** Sends a piece of the log to the index and waits until it is taken; returns the offset after it. */
  async #replayFrom(offset: number): Promise<number> {
    let next = offset;
    let bytes = 0;
    for (const batch of this.#log.read(this.stream, 0, offset)) {
      if (!batch.seek(next)) break;
      do {
        next = batch.offset + 1;
        this.#sendChanges(next, batch.value!);
        bytes += batch.valueLength;
      } while (batch.next());
      if (bytes >= replayPieceBytes) break;
    }
    if (next === offset) throw unavailable("the collection's log was trimmed while it was read; retry");
    await this.#index.request({ kind: "sync", collection: this.meta.id });
    return next;
  }

  /**
   * Asks the index, which is opened first where it is not. When its thread is lost meanwhile, it is opened anew and
   * asked once more.
   */
  async ask<T>(question: IndexQuestion): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.open();
        return await this.askNow<T>(question);
      } catch (error) {
        const lost = error instanceof EngineError && error.reason === "unavailable";
        if (!lost || attempt === 2 || this.damaged) throw error;
        await yieldTurn();
      }
    }
  }

  /** Asks the open index in this very turn, so that the answer is about exactly what is committed now. */
  async askNow<T>(question: IndexQuestion): Promise<T> {
    const session = this.#session;
    if (session?.loaded !== true) throw unavailable("the collection's index was closed; retry");
    try {
      return await this.#index.request<T>({ ...question, collection: this.meta.id });
    } catch (error) {
      // What the thread no longer has must not be taken for open.
      if (error instanceof EngineError && error.reason === "unavailable") this.#end(session);
      throw error;
    }
  }

  /** Everything committed up to now becomes a segment; called in one turn with the look at the log's end. */
  async freeze(upTo: number): Promise<FrozenDeletes> {
    const session = this.#session;
    if (session !== undefined) session.frozenAt = upTo;
    return this.askNow<FrozenDeletes>({ kind: "freeze", upTo });
  }

  /** A write was committed: `next` is the offset after its record. */
  onCommitted(next: number, changes: Uint8Array, totals: CollectionTotals, nowMs: number): void {
    this.totals = totals;
    this.lastWriteMs = nowMs;
    this.lastUseMs = nowMs;
    this.tailSinceMs ??= nowMs;
    this.follower?.(changes, next, totals.changes);
    if (this.#session?.following) this.#sendChanges(next, changes);
  }

  onMeta(meta: CollectionMeta): void {
    const before = this.meta;
    this.meta = meta;
    if (meta.schemaVersion === before.schemaVersion) return;
    if (meta.fillVersion !== before.fillVersion) this.#fieldsSince = this.#log.highWatermark(this.stream, 0);
    if (this.#session?.following) this.#sendSchema();
  }

  onPublished(manifest: Manifest, nowMs: number): void {
    const before = this.manifest;
    this.manifest = manifest;
    this.tailSinceMs = this.backlogRecords === 0 ? undefined : nowMs;
    const session = this.#session;
    if (session === undefined || !session.following) return;
    // A tail that was not frozen at this manifest's end holds documents that its segments hold too.
    if (manifest.applied !== before.applied && session.frozenAt !== manifest.applied) this.close();
    else this.#index.post({ kind: "publish", collection: this.meta.id, manifest });
  }

  markDamaged(cause: unknown): void {
    if (this.damaged) return;
    this.damaged = true;
    this.#onDamage(cause);
  }

  /** The thread that held the index is gone; the next use opens it anew. */
  onLost(): void {
    if (this.#session !== undefined) this.#end(this.#session);
  }

  close(): void {
    if (this.#session === undefined) return;
    this.#end(this.#session);
    this.#index.post({ kind: "close", collection: this.meta.id });
  }

  drop(): void {
    this.#dropped = true;
    this.close();
  }

  #end(session: Session): void {
    session.following = false;
    session.loaded = false;
    if (this.#session === session) this.#session = undefined;
  }

  #sendSchema(): void {
    this.#index.post({ kind: "schema", collection: this.meta.id, schema: formatSchema(this.meta.schema) });
  }

  #sendChanges(next: number, changes: Uint8Array): void {
    // A copy of its own: the memory goes over to the thread, and a small buffer's lies in a pool with others.
    const copy = new Uint8Array(changes);
    this.#index.post({ kind: "apply", collection: this.meta.id, next, changes: copy }, [copy.buffer]);
  }
}

function rebuilding(): EngineError {
  return unavailable("the collection's index is damaged and is being made again from its documents; retry");
}
