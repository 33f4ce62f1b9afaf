import type { Clock } from "../port/clock.ts";
import type { Bytes, Store, WriteOp } from "../port/store.ts";
import { decodeCollection, type Manifest, readCollectionTotals } from "./collection/collection-store.ts";
import { documentsOf } from "./collection/document-codec.ts";
import type { Pins } from "./collection/pins.ts";
import type { CollectionRuntime } from "./collection/runtime.ts";
import type { Runtimes } from "./collection/runtimes.ts";
import type { CollectionSettings } from "./collection/settings.ts";
import { withDocuments } from "./collection/write-record.ts";
import type { Committer } from "./commit/committer.ts";
import { makeKey, readU64, tables } from "./keys.ts";
import { limits } from "./limits.ts";
import type { Links } from "./link/links.ts";
import type { Live } from "./live/live.ts";
import type { Log } from "./log/log.ts";
import { BatchCursor } from "./log/record-batch.ts";
import type { Metastore } from "./metastore/metastore.ts";
import { decode } from "./stored-value.ts";
import type { ConsistencyToken } from "./token.ts";

export interface FollowerDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly log: Log;
  readonly runtimes: Runtimes;
  readonly pins: Pins;
  readonly links: Links;
  readonly live: Live;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
}

interface Batch {
  readonly key: Bytes;
  readonly value: Bytes;
}

const lookMs = 1_000;

/**
 * Keeps what an engine has in memory in step with the commits of another node. Each commit is told in the turn in which the store has it, so
 * that no reader sees the one without the other.
 */
export class Follower {
  readonly #deps: FollowerDeps;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#deps.runtimes.follows = true;
    this.#deps.links.follow();
    this.#running = this.#closeIdle();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #closeIdle(): Promise<void> {
    const { runtimes, pins, clock, settings } = this.#deps;
    while (!this.#stop.signal.aborted) {
      runtimes.closeIdle(settings, clock.nowMs());
      pins.sweep();
      await clock.sleep(lookMs, this.#stop.signal);
    }
  }

  /** The ops of one commit, which the store has already. Their memory is lent. */
  onApplied(ops: readonly WriteOp[]): void {
    const written = new Set<number>();
    for (const { key } of ops) written.add(key[0]!);
    // Names first: everything below may look something up by them.
    if (written.has(tables.namespace) || written.has(tables.stream)) this.#deps.metastore.onApplied();
    this.#deps.committer.onApplied(written);
    if (written.has(tables.collection)) this.#onSchemas(ops);
    this.#onLog(ops);
    if (written.has(tables.collectionTotals)) this.#onDocuments(ops);
    this.#onCollections(ops);
    if (written.has(tables.link)) this.#deps.links.follow();
    this.#onLinks(ops, written);
  }

  #onLog(ops: readonly WriteOp[]): void {
    const { log } = this.#deps;
    for (const op of ops) {
      if (op.kind === "delete") continue;
      const { key, value } = op;
      if (key[0] === tables.log) log.onApplied(key, value);
      else if (key[0] === tables.partition) log.onTrimmed(key, value);
      else if (key[0] === tables.droppedStream) {
        log.forget({ id: readU64(key, 1), partitions: decode<{ partitions: number }>(value).partitions });
      }
    }
  }

  /** Before the documents of the same commit: the index is to know the fields before the documents that have them. */
  #onSchemas(ops: readonly WriteOp[]): void {
    for (const op of ops) {
      if (op.kind === "delete" || op.key[0] !== tables.collection) continue;
      const name = Buffer.from(op.key).toString("latin1", 9);
      const meta = decodeCollection(readU64(op.key, 1), "", name, op.value);
      const runtime = this.#deps.runtimes.find(meta.id);
      runtime?.onMeta({ ...meta, namespace: runtime.meta.namespace });
    }
  }

  #onDocuments(ops: readonly WriteOp[]): void {
    const { runtimes } = this.#deps;
    const appended = new Map<number, Batch[]>();
    const changed = new Set<CollectionRuntime>();
    for (const op of ops) {
      if (op.kind === "delete") continue;
      if (op.key[0] === tables.log) {
        const stream = readU64(op.key, 1);
        const batches = appended.get(stream);
        if (batches === undefined) appended.set(stream, [op]);
        else batches.push(op);
      } else if (op.key[0] === tables.collectionTotals) {
        const runtime = runtimes.find(readU64(op.key, 1));
        if (runtime !== undefined) changed.add(runtime);
      }
    }
    for (const runtime of changed) this.#onChanges(runtime, appended.get(runtime.stream.id) ?? []);
  }

  #onChanges(runtime: CollectionRuntime, batches: readonly Batch[]): void {
    const { store, log, clock } = this.#deps;
    const { id } = runtime.meta;
    const records: Uint8Array[] = [];
    for (const { key, value } of runtime.isFollowed ? batches : []) {
      const batch = new BatchCursor(key, value);
      while (batch.next()) records.push(new Uint8Array(batch.value!));
    }
    const changes = withDocuments(records, documentsOf(store, id));
    runtime.onCommitted(log.highWatermark(runtime.stream, 0), changes, readCollectionTotals(store, id), clock.nowMs());
  }

  #onCollections(ops: readonly WriteOp[]): void {
    const { runtimes, pins, clock } = this.#deps;
    for (const op of ops) {
      if (op.kind === "delete") continue;
      if (op.key[0] === tables.manifest) {
        const runtime = runtimes.find(readU64(op.key, 1));
        if (runtime !== undefined) runtime.onPublished(decode<Manifest>(op.value), clock.nowMs());
      } else if (op.key[0] === tables.droppedCollection) {
        const id = readU64(op.key, 1);
        runtimes.drop(id);
        pins.dropCollection(id);
      }
    }
  }

  #onLinks(ops: readonly WriteOp[], written: ReadonlySet<number>): void {
    const { links, live } = this.#deps;
    for (const { kind, key } of ops) {
      if (key[0] === tables.linkState || key[0] === tables.linkFill) links.onStored(readU64(key, 1));
      else if (key[0] === tables.droppedLink && kind === "put") links.onDeleted(readU64(key, 1));
      else if (key[0] === tables.liveMeta || key[0] === tables.liveTick) live.onApplied(readU64(key, 1));
    }
    // A link into a collection that was made anew has applied nothing to it.
    if (written.has(tables.collection)) links.onStored(undefined);
  }

  /** Resolves with whether all that a token names is here; waits for it as a read does. */
  async reaches(token: ConsistencyToken, signal: AbortSignal): Promise<boolean> {
    const { log, clock } = this.#deps;
    const deadlineMs = clock.steadyMs() + limits.tokenWaitMsMax;
    for (const { stream: id, partition, offset } of token) {
      if (partition >= limits.partitionsMax || id >= streamIdsMax) return false;
      const stream = { id, partitions: partition + 1, retention: undefined };
      const next = log.highWatermark(stream, partition);
      if (next > offset) continue;
      // Of a stream that was dropped there is nothing to wait for.
      if (next === 0 && id < this.#nextStreamId) return false;
      const leftMs = deadlineMs - clock.steadyMs();
      if (!(await log.waitAbove(stream, partition, offset, leftMs, signal))) return false;
    }
    return true;
  }

  get #nextStreamId(): number {
    const stored = this.#deps.store.get(makeKey(tables.nextId, "stream"));
    return stored === undefined ? 1 : decode<number>(stored);
  }
}

/** Above every id that a stream can have. */
const streamIdsMax = 2 ** 39;
