import type { Bundler } from "../port/bundler.ts";
import type { Children } from "../port/children.ts";
import type { Clock } from "../port/clock.ts";
import type { ObjectStore } from "../port/object-store.ts";
import type { Ownership } from "../port/ownership.ts";
import type { Random } from "../port/random.ts";
import type { Store, WriteOp } from "../port/store.ts";
import type { Threads } from "../port/threads.ts";
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
  readonly #maintenance: Maintenance;
  readonly #follower: Follower;
  readonly #draining = new AbortController();
  #started = false;

  constructor(ports: EnginePorts, settings: EngineSettings, observer: EngineObserver = {}) {
    const { store, clock } = ports;
    this.#ports = ports;
    this.committer = new Committer({
      store,
      clock,
      queueBytesMax: limits.commitQueueBytesMax,
      groupBytesMax: limits.commitGroupBytesMax,
      readyBytes: limits.commitReadyBytes,
      readyChanges: limits.commitReadyChanges,
      outcomeMsMax: limits.commitOutcomeMsMax,
      onGroup: (group) => observer.onCommitGroup?.(group),
    });
    this.metastore = new Metastore(store, this.committer);
    this.log = new Log(store, clock);
    const { committer, metastore, log } = this;
    const quotas = new Quotas({ store, committer, metastore, log, clock });
    this.quotas = quotas;
    const idempotency = new IdempotencyRecords(store, clock);
    const trimmer = new Trimmer(log, committer, metastore);
    const onError = (error: unknown) => observer.onBackgroundError?.(error);
    const draining = this.#draining.signal;
    this.streams = new Streams({ metastore, log, committer, trimmer, idempotency, quotas, clock, draining });
    const tokens = new TokenWaiter(log, clock, draining);
    const { searchThreads } = settings.collections;
    this.#index = new IndexThreads(
      Array.from({ length: searchThreads }, () => new EngineThread(ports.threads.start("index"))),
    );
    this.#build = new EngineThread(ports.threads.start("build"));
    const { objects } = ports;
    const catalog = new Catalog(store, metastore, this.committer);
    const runtimes = new Runtimes(store, log, this.#index, onError);
    this.#runtimes = runtimes;
    this.#pins = new Pins(clock, ports.random);
    const shared = {
      store,
      objects,
      committer,
      catalog,
      runtimes,
      pins: this.#pins,
      log,
      clock,
      quotas,
      hold: this.objectHold,
    };
    const writer = new DocumentWriter({ ...shared, idempotency, settings: settings.collections });
    this.collections = new Collections({
      ...shared,
      metastore,
      settings: settings.collections,
      onCreated: ({ namespace, name }) => this.links.targetMade("collection", namespace, name),
    });
    this.documents = new Documents({
      ...shared,
      tokens,
      writer,
      settings: settings.collections,
      filled: ({ namespace, name }, token, signal) => this.links.filled(namespace, name, token, signal),
    });
    this.queries = new Queries({
      ...shared,
      documents: this.documents,
      onQuery: (kind, ms) => observer.onQuery?.(kind, ms),
    });
    this.#sealer = new Sealer({
      ...shared,
      ownership: ports.ownership,
      build: this.#build,
      settings: settings.collections,
      onError,
    });
    const dedup = new DedupIndex({ store, committer, clock, random: ports.random, windowMs: settings.dedupWindowMs });
    this.#dedup = dedup;
    this.events = new Events({ metastore, log, committer, streams: this.streams, dedup, idempotency, quotas, clock });
    this.counters = new CounterTarget(store);
    const filler = new CollectionTarget({ ...shared, metastore, writer, settings: settings.collections });
    const targets = [this.counters, filler];
    this.links = new Links({ store, committer, metastore, log, clock, targets, draining, onError });
    this.live = new Live({
      ...shared,
      metastore,
      idempotency,
      tokens,
      random: ports.random,
      settings: settings.live ?? defaultLiveSettings,
      draining,
      onError,
      ports: ports.functions,
    });
    this.sql = new SqlEngine({
      ...shared,
      metastore,
      documents: this.documents,
      queries: this.queries,
      links: this.links,
      live: this.live.sqlTables,
      tokens,
      children: ports.sqlChildren,
      settings: settings.sql,
      onStatement: (outcome, ms) => observer.onStatement?.(outcome, ms),
    });
    const { links, live } = this;
    this.#follower = new Follower({ ...shared, metastore, links, live, settings: settings.collections });
    this.#maintenance = new Maintenance({
      store,
      clock,
      committer,
      metastore,
      trimmer,
      idempotency,
      dedup,
      quotas,
      onError,
    });
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
    await this.committer.close();
    this.#pins.close();
    await this.#ports.ownership[Symbol.asyncDispose]();
  }
}
