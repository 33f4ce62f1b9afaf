import type { Bundler } from "../port/bundler.ts";
import type { Children } from "../port/children.ts";
import type { Clock } from "../port/clock.ts";
import type { ObjectStore } from "../port/object-store.ts";
import type { Ownership } from "../port/ownership.ts";
import type { Random } from "../port/random.ts";
import type { Store, WriteOp } from "../port/store.ts";
import type { Thread, Threads } from "../port/threads.ts";
import { Catalog } from "./collection/catalog.ts";
import { Collections } from "./collection/collections.ts";
import { DocumentWriter } from "./collection/document-writer.ts";
import { Documents } from "./collection/documents.ts";
import { type BuildThread, EngineThread } from "./collection/engine-thread.ts";
import { IndexThreads } from "./collection/index-threads.ts";
import { ObjectHold } from "./collection/object-hold.ts";
import { Pins } from "./collection/pins.ts";
import { Runtimes } from "./collection/runtimes.ts";
import { Sealer } from "./collection/sealer.ts";
import type { CollectionSettings } from "./collection/settings.ts";
import { type CommitGroup, Committer } from "./commit/committer.ts";
import { DedupIndex } from "./event/dedup/dedup-index.ts";
import type { SegmentWork } from "./event/dedup/segment-work.ts";
import { Events } from "./event/events.ts";
import { Follower } from "./follower.ts";
import { checkFormat } from "./format.ts";
import { limits } from "./limits.ts";
import { CollectionTarget } from "./link/collection-target.ts";
import { CounterTarget } from "./link/counter-target.ts";
import { Links } from "./link/links.ts";
import { Live } from "./live/live.ts";
import { defaultLiveSettings, type LiveSettings } from "./live/settings.ts";
import { Log } from "./log/log.ts";
import { Maintenance } from "./maintenance.ts";
import { Metastore } from "./metastore/metastore.ts";
import { Queries } from "./query/queries.ts";
import { Quotas } from "./quota/quotas.ts";
import type { QueryKind } from "./retrieval/plan.ts";
import type { SqlSettings } from "./sql/settings.ts";
import { SqlEngine, type SqlOutcome } from "./sql/sql-engine.ts";
import { IdempotencyRecords } from "./stream/idempotency.ts";
import { Streams } from "./stream/streams.ts";
import { TokenWaiter } from "./stream/token-waiter.ts";
import { Trimmer } from "./stream/trimmer.ts";
import type { ConsistencyToken } from "./token.ts";

export interface EnginePorts {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly random: Random;
  readonly threads: Threads;
  /** The processes of SQL statements. */
  readonly sqlChildren: Children;
  /** For live functions: processes that run them, and what makes one script of their modules. There are none without it. */
  readonly functions?: { readonly runners: Children; readonly bundler: Bundler };
}

export interface EngineSettings {
  readonly collections: CollectionSettings;
  /** How long a CloudEvent's source and id are remembered. */
  readonly dedupWindowMs: number;
  readonly sql: SqlSettings;
  readonly live?: LiveSettings;
}

/** What the engine tells about itself; all optional. */
export interface EngineObserver {
  onCommitGroup?(group: CommitGroup): void;
  onBackgroundError?(error: unknown): void;
  onStatement?(outcome: SqlOutcome, ms: number): void;
  onQuery?(kind: QueryKind, ms: number): void;
}

/** The service itself, without a wire. */
export class Engine {
  readonly metastore: Metastore;
  readonly log: Log;
  readonly streams: Streams;
  readonly events: Events;
  readonly links: Links;
  readonly counters: CounterTarget;
  readonly collections: Collections;
  readonly documents: Documents;
  readonly queries: Queries;
  readonly sql: SqlEngine;
  readonly live: Live;
  readonly quotas: Quotas;
  readonly #index: IndexThreads;
  readonly #build: BuildThread;
  readonly #sealer: Sealer;
  readonly #runtimes: Runtimes;
  readonly #pins: Pins;
  readonly committer: Committer;
  /** Taken by those who copy objects. */
  readonly objectHold = new ObjectHold();
  readonly #ports: EnginePorts;
  readonly #dedup: DedupIndex;
  /** Makes the segments of remembered events. */
  readonly #segments: Thread;
  readonly #maintenance: Maintenance;
  readonly #follower: Follower;
  readonly #draining = new AbortController();
  #started = false;

  constructor(ports: EnginePorts, settings: EngineSettings, observer: EngineObserver = {}) {
    const { store, objects, clock, random, ownership } = ports;
    this.#ports = ports;
    const committer = newCommitter(ports, observer);
    const metastore = new Metastore(store, committer);
    const log = new Log(store, clock);
    const quotas = new Quotas({ store, committer, metastore, log, clock });
    const idempotency = new IdempotencyRecords(store, clock);
    const trimmer = new Trimmer(log, committer, metastore);
    const draining = this.#draining.signal;
    const tokens = new TokenWaiter(log, clock, draining);
    const onError = (error: unknown) => observer.onBackgroundError?.(error);
    const index = () => new EngineThread(ports.threads.start("index"));
    this.#index = new IndexThreads(Array.from({ length: settings.collections.searchThreads }, index));
    this.#build = new EngineThread(ports.threads.start("build"));
    const catalog = new Catalog(store, metastore, committer);
    const runtimes = new Runtimes(store, log, this.#index, onError);
    const pins = new Pins(clock, random, () => store.stats().heldBytes ?? 0);
    const stored = { store, objects, clock, random, committer, metastore, log, quotas, idempotency, trimmer };
    const shared = { ...stored, catalog, runtimes, pins, tokens, hold: this.objectHold, draining, onError };
    const ofCollections = { ...shared, settings: settings.collections };
    this.committer = committer;
    this.metastore = metastore;
    this.log = log;
    this.quotas = quotas;
    this.#runtimes = runtimes;
    this.#pins = pins;
    this.streams = new Streams(shared);
    const writer = new DocumentWriter(ofCollections);
    this.collections = new Collections({
      ...ofCollections,
      onCreated: ({ namespace, name }) => this.links.targetMade("collection", namespace, name),
    });
    this.documents = new Documents({
      ...ofCollections,
      writer,
      filled: ({ namespace, name }, token, signal) => this.links.filled(namespace, name, token, signal),
    });
    const { streams, documents } = this;
    this.queries = new Queries({ ...shared, documents, onQuery: (kind, ms) => observer.onQuery?.(kind, ms) });
    this.#sealer = new Sealer({ ...ofCollections, ownership, build: this.#build });
    this.#segments = ports.threads.start("dedup");
    const doWork = (work: SegmentWork) => this.#segments.request(work) as Promise<Uint32Array>;
    const dedup = new DedupIndex({ ...shared, windowMs: settings.dedupWindowMs, doWork });
    this.#dedup = dedup;
    this.events = new Events({ ...shared, streams, dedup });
    this.counters = new CounterTarget(store);
    this.links = new Links({ ...shared, targets: [this.counters, new CollectionTarget({ ...ofCollections, writer })] });
    this.live = new Live({ ...shared, settings: settings.live ?? defaultLiveSettings, ports: ports.functions });
    const { queries, links, live } = this;
    this.sql = new SqlEngine({
      ...shared,
      documents,
      queries,
      links,
      live: live.sqlTables,
      children: ports.sqlChildren,
      settings: settings.sql,
      onStatement: (outcome, ms) => observer.onStatement?.(outcome, ms),
    });
    this.#follower = new Follower({ ...ofCollections, links, live });
    this.#maintenance = new Maintenance({ ...shared, dedup });
  }

  /** Whether the metastore has a leader and the engine serves. */
  get isReady(): boolean {
    return this.#started && this.#ports.ownership.isOwner && !this.#draining.signal.aborted;
  }

  /** What keeps indexes behind their documents has done since the start. */
  get indexing(): Sealer["done"] {
    return this.#sealer.done;
  }

  /** The collections in use, with the writes that no segment of theirs holds yet. */
  *backlogs(): Iterable<{ namespace: string; collection: string; records: number; bytes: number }> {
    for (const { meta, backlogRecords, backlogBytes } of this.#runtimes.all()) {
      yield { namespace: meta.namespace, collection: meta.name, records: backlogRecords, bytes: backlogBytes };
    }
  }

  get isDraining(): boolean {
    return this.#draining.signal.aborted;
  }

  /** Serves as one who reads what another node writes, and is told of it by `onApplied` from here on. */
  follow(): void {
    this.quotas.load();
    this.#follower.start();
    this.#started = true;
  }

  /** Another node's commit, which the store has had since this very turn. */
  onApplied(ops: readonly WriteOp[]): void {
    this.#follower.onApplied(ops);
  }

  /** Of one who follows: resolves with whether all that a token names is here, once it is. */
  reaches(token: ConsistencyToken, signal: AbortSignal): Promise<boolean> {
    return this.#follower.reaches(token, AbortSignal.any([signal, this.#draining.signal]));
  }

  /** Serves as the one who writes, with all that goes on in the background. */
  async own(): Promise<void> {
    await this.#ports.ownership.acquire(this.#draining.signal);
    await checkFormat(this.#ports.store);
    await this.#dedup.open();
    await this.quotas.start();
    this.#maintenance.start();
    this.links.start();
    this.live.start();
    this.#sealer.start();
    this.#started = true;
  }

  /** Answers waiting readers; what is under way goes on. */
  drain(): void {
    this.#draining.abort();
  }

  /** Ends background work and waits for every write that was accepted. The store is the caller's to close. */
  async stop(): Promise<void> {
    this.drain();
    await this.#follower.stop();
    await this.links.stop();
    await this.live.stop();
    // Ended before the sealer: a build under way would hold the stop for as long as it takes.
    await this.#build.close();
    await this.#sealer.stop();
    await this.#index.close();
    await this.sql.stop();
    await this.#maintenance.stop();
    await this.#segments.close();
    await this.committer.close();
    this.#pins.close();
    await this.#ports.ownership[Symbol.asyncDispose]();
  }
}

function newCommitter({ store, clock }: EnginePorts, observer: EngineObserver): Committer {
  return new Committer({
    store,
    clock,
    queueBytesMax: limits.commitQueueBytesMax,
    groupBytesMax: limits.commitGroupBytesMax,
    readyBytes: limits.commitReadyBytes,
    readyChanges: limits.commitReadyChanges,
    outcomeMsMax: limits.commitOutcomeMsMax,
    onGroup: (group) => observer.onCommitGroup?.(group),
  });
}
