import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { EngineError, notFound, unavailable } from "../errors.ts";
import { makeKey, tables } from "../keys.ts";
import type { Log } from "../log/log.ts";
import { encodeBatch } from "../log/record-batch.ts";
import { liveStreamName, type Metastore, type NamespaceMeta, type StreamMeta } from "../metastore/metastore.ts";
import { decode, encode } from "../stored-value.ts";
import type { ConsistencyToken } from "../token.ts";
import { changeEvents, stageEvents } from "./change-events.ts";
import { encodeKeys } from "./collector.ts";
import { Contention } from "./contention.ts";
import { Gate } from "./gate.ts";
import type { DeployedFunction, LiveMeta } from "./live-meta.ts";
import type { ReadSet, WriteSet } from "./read-set.ts";
import { type LiveSettings, liveLimits } from "./settings.ts";
import { encodeMoment, type Moment, readMoment, Snapshots } from "./snapshots.ts";
import type { LiveTable } from "./table.ts";
import type { Transaction } from "./transaction.ts";
import { CurrentView, entrySince } from "./view.ts";
import { LayeredReader, SortedWrites } from "./writes.ts";

export interface LiveNamespaceDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly log: Log;
  readonly clock: Clock;
  readonly settings: LiveSettings;
}

/** A later commit has changed what a run had read: it has to run again. */
export class Conflict extends Error {
  /** What both had to do with; undefined where the run stood on commits that failed. */
  readonly over: string | undefined;

  constructor(over?: string) {
    super(over === undefined ? "a commit that was seen has failed" : `a later commit has changed ${over}`);
    this.over = over;
  }
}

interface Pending extends Moment {
  readonly writes: SortedWrites;
  durable: Promise<unknown>;
}

/** What a mutation sees: everything that is decided, also what is not durable yet. */
export interface StagedView {
  readonly tick: number;
  readonly generation: number;
  readonly reader: LayeredReader;
  readonly view: CurrentView;
  /** Resolves when all of it is durable; rejects with `Conflict` when it never will be. */
  settled(): Promise<void>;
}

const noTables: LiveMeta = { version: 0, nextNumber: 1, tables: [], functions: [] };

/**
 * The tables of one namespace and their one writer. Commits are decided here in their order, each on what the ones before it leave, and handed
 * to the committer, which makes many durable with one sync. A commit that fails takes back all that were decided after it.
 */
export class LiveNamespace {
  readonly id: number;
  readonly name: string;
  readonly gate = new Gate();
  readonly contention = new Contention();
  readonly snapshots: Snapshots;
  tables: ReadonlyMap<string, LiveTable> = new Map();
  tablesByNumber: ReadonlyMap<number, LiveTable> = new Map();
  functions: ReadonlyMap<string, DeployedFunction> = new Map();
  readonly #deps: LiveNamespaceDeps;
  readonly #recent = new Map<number, WriteSet>();
  readonly #listeners = new Set<(tick: number, written: WriteSet) => void>();
  #meta: LiveMeta;
  #exists: boolean;
  #pending: Pending[] = [];
  #durable: Moment;
  #nextTick: number;
  #lastMicros: number;
  #generation = 0;

  constructor(deps: LiveNamespaceDeps, namespace: NamespaceMeta) {
    this.#deps = deps;
    this.id = namespace.id;
    this.name = namespace.name;
    this.snapshots = new Snapshots(deps.store, namespace.id);
    const stored = deps.store.get(makeKey(tables.liveMeta, namespace.id));
    this.#exists = stored !== undefined;
    this.#meta = stored === undefined ? noTables : decode<LiveMeta>(stored);
    this.#durable = readMoment(deps.store, namespace.id) ?? { tick: 0, micros: 0 };
    this.#nextTick = this.#durable.tick + 1;
    this.#lastMicros = this.#durable.micros;
    this.#show(this.#meta);
  }

  get meta(): LiveMeta {
    return this.#meta;
  }

  /** The newest durable commit that all listeners have seen. */
  get durable(): Moment {
    return this.#durable;
  }

  get nowMicros(): number {
    return Math.floor(this.#deps.clock.nowMs() * 1_000);
  }

  /** The present to everybody who has seen a commit: its time may be a moment ahead of the clock's. */
  get latestMicros(): number {
    return Math.max(this.nowMicros + 999, this.#lastMicros);
  }

  /** The stream whose offsets are the ticks; undefined before the first table. */
  get stream(): StreamMeta | undefined {
    return this.#exists ? this.#deps.metastore.stream(this.name, liveStreamName) : undefined;
  }

  /** Throws `not_found` unless it is an ordinary stream, which users have made. */
  checkStream(name: string): void {
    const { backing } = this.#deps.metastore.stream(this.name, name);
    if (backing) throw notFound(`stream ${JSON.stringify(name)} does not exist`);
  }

  token(tick: number): ConsistencyToken {
    const { stream } = this;
    return stream === undefined ? [] : [{ stream: stream.id, partition: 0, offset: tick }];
  }

  /** Called with every durable commit. */
  onCommit(listener: (tick: number, written: WriteSet) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A time for a run: later than that of any before it. */
  startMicros(): number {
    this.#lastMicros = Math.max(this.nowMicros, this.#lastMicros + 1);
    return this.#lastMicros;
  }

  /** No later commit has this time or an earlier one. Resolves when all that have are durable. */
  async reserve(micros: number): Promise<void> {
    this.#lastMicros = Math.max(this.#lastMicros, micros);
    await this.settle();
  }

  /** Resolves when all that is decided is durable, or has failed. */
  async settle(): Promise<void> {
    const last = this.#pending.at(-1);
    await last?.durable.catch(() => undefined);
    if (last !== undefined && this.#pending.includes(last)) throw unavailable("the disk does not answer; retry");
  }

  /** The newest durable state, for a reader that takes more than this turn. */
  durableView(): { readonly view: CurrentView } & Disposable {
    const snapshot = this.snapshots.take(this.nowMicros);
    const view = new CurrentView(new LayeredReader(snapshot.reader, []), this.id);
    return { view, [Symbol.dispose]: () => snapshot[Symbol.dispose]() };
  }

  /** `base` is a snapshot where the run takes more than this turn. */
  staged(base: Pick<Store, "get" | "range"> = this.#deps.store, own?: SortedWrites): StagedView {
    const layers = this.#pending.map(({ writes }) => writes);
    const generation = this.#generation;
    const last = this.#pending.at(-1);
    const reader = new LayeredReader(base, own === undefined ? layers : [...layers, own]);
    return {
      tick: this.#nextTick - 1,
      generation,
      reader,
      view: new CurrentView(reader, this.id),
      settled: async () => {
        await last?.durable.catch(() => undefined);
        if (this.#generation !== generation) throw new Conflict();
        if (last !== undefined && this.#pending.includes(last)) throw undecided();
      },
    };
  }

  /** Throws `Conflict` where what was read is different by now. */
  checkRead(read: ReadSet, view: StagedView): void {
    if (view.generation !== this.#generation) throw new Conflict();
    for (let tick = view.tick + 1; tick < this.#nextTick; tick++) {
      const written = this.#recent.get(tick);
      if (written === undefined) throw new Conflict();
      const over = read.touchOf(written);
      if (over !== undefined) throw new Conflict(over);
    }
  }

  /** Whether a commit after the tick has changed what was read; the first such. */
  firstTouch(read: ReadSet, afterTick: number): number | undefined {
    for (let tick = afterTick + 1; tick <= this.#durable.tick; tick++) {
      const written = this.#recent.get(tick);
      if (written === undefined || read.touchOf(written) !== undefined) return tick;
    }
    return undefined;
  }

  /** Decides a transaction. `record` writes what else belongs to the commit. */
  commit(transaction: Transaction, view: StagedView, record: (draft: Draft, moment: Moment) => void): Promise<Moment> {
    this.checkRead(transaction.read, view);
    if (this.#pending.length >= liveLimits.pendingCommitsMax) {
      return Promise.reject(unavailable("too many mutations wait for the log's sync; retry"));
    }
    const { stream } = this;
    if (stream === undefined) throw new Error("a transaction without a table");
    const moment = { tick: this.#nextTick, micros: this.startMicros() };
    const current = this.staged();
    const { ops, written, former } = transaction.finish(moment.tick, (key) => {
      const entry = current.reader.get(key);
      if (entry === undefined) throw new Error("a document without its index entry");
      return entrySince(entry);
    });
    const writes = new SortedWrites(ops);
    const events = changeEvents(this.name, transaction.changes, moment);
    const batch = encodeBatch(
      [{ value: describe(transaction), timestampMs: moment.micros / 1_000 }],
      moment.micros / 1_000,
    );
    if (former.length > 0) {
      const value = encodeKeys(former);
      ops.push({ kind: "put", key: makeKey(tables.liveExpiry, this.id, moment.tick), value });
    }
    ops.push({ kind: "put", key: makeKey(tables.liveTick, this.id), value: encodeMoment(moment) });
    const pending: Pending = { ...moment, writes, durable: Promise.resolve() };
    const { committer, log, metastore } = this.#deps;
    let isStaged = false;
    const decide = (draft: Draft): Moment => {
      if (!this.#pending.includes(pending)) throw new Conflict();
      isStaged = true;
      draft.onUndo(() => this.#failed(pending));
      const staged = metastore.stagedStream(draft, stream);
      if (log.stagedNext(staged, 0) !== moment.tick) throw new Error("a tick is no offset of the live stream");
      draft.add(ops);
      log.stageAppend(draft, staged, 0, batch);
      if (events.size > 0) stageEvents(this.#deps, draft, this.name, events, moment);
      record(draft, moment);
      draft.onCommit(() => this.#committed(moment, written));
      return moment;
    };
    this.#nextTick++;
    this.#recent.set(moment.tick, written);
    const bytes = ops.reduce((sum, op) => sum + op.key.length + (op.kind === "put" ? op.value.length : 0), 512);
    this.#pending.push(pending);
    const durable = committer.submit(decide, bytes).catch((error: unknown) => {
      // What failed was undone before this: it may still come about.
      if (isStaged && this.#pending.includes(pending)) throw undecided();
      this.#failed(pending);
      throw error;
    });
    pending.durable = durable;
    return durable;
  }

  /** Changes tables or the deployment. The caller is alone at the gate. */
  async changeMeta(next: LiveMeta, stage: (draft: Draft, moment: Moment) => void): Promise<Moment> {
    await this.settle();
    const { committer, log, metastore, settings } = this.#deps;
    let isUndecided = false;
    const moment = committer.submit((draft) => {
      isUndecided = true;
      draft.onUndo(() => {
        isUndecided = false;
      });
      const retention = { maxAgeMs: settings.historyMs, maxBytes: null };
      const shape = { partitions: 1, retention, backing: true };
      const stream = this.#exists
        ? metastore.stagedStream(draft, metastore.stream(this.name, liveStreamName))
        : metastore.stageCreateStream(draft, this.name, liveStreamName, shape);
      const append = (value: object, at: Moment) => {
        const record = { value: Buffer.from(JSON.stringify(value)), timestampMs: at.micros / 1_000 };
        log.stageAppend(draft, stream, 0, encodeBatch([record], at.micros / 1_000));
      };
      // The tick 0 is the empty namespace, whoever asks for it.
      if (!this.#exists) append({ opened: true }, { tick: 0, micros: this.startMicros() });
      const at = { tick: log.stagedNext(stream, 0), micros: this.startMicros() };
      append({ tables: next.tables.map(({ name }) => name), version: next.version }, at);
      const dated = { ...next, tables: next.tables.map((table) => datedTable(table, at.tick)) };
      draft.put(makeKey(tables.liveMeta, this.id), encode(dated));
      draft.put(makeKey(tables.liveTick, this.id), encodeMoment(at));
      stage(draft, at);
      draft.onCommit(() => {
        this.#exists = true;
        this.#meta = dated;
        this.#show(dated);
        const written = { documents: [], places: [], schema: true };
        this.#recent.set(at.tick, written);
        this.#nextTick = at.tick + 1;
        this.#committed(at, written);
      });
      return at;
    });
    return await moment.catch((error: unknown) => {
      throw isUndecided ? undecided() : error;
    });
  }

  #show(meta: LiveMeta): void {
    this.tables = new Map(meta.tables.map((table) => [table.name, table]));
    this.tablesByNumber = new Map(meta.tables.map((table) => [table.number, table]));
    this.functions = new Map(meta.functions.map((each) => [each.name, each]));
  }

  #committed(moment: Moment, written: WriteSet): void {
    if (this.#pending[0]?.tick === moment.tick) this.#pending.shift();
    assert(moment.tick > this.#durable.tick, "ticks only rise");
    this.#durable = moment;
    this.#recent.delete(moment.tick - liveLimits.recentCommitsMax);
    this.snapshots.renew();
    for (const listener of this.#listeners) listener(moment.tick, written);
  }

  /** What was decided after it stands on what never was. */
  #failed(pending: Pending): void {
    const at = this.#pending.indexOf(pending);
    if (at < 0) return;
    this.#generation++;
    this.#pending.length = at;
    for (let tick = pending.tick; tick < this.#nextTick; tick++) this.#recent.delete(tick);
    this.#nextTick = pending.tick;
  }
}

/** Not `unavailable`, which says that nothing was applied. */
function undecided(): EngineError {
  const message = "the disk does not answer: whether it is applied is not known yet; repeat it with its request_id";
  return new EngineError("deadline_exceeded", message);
}

/** An index without a tick is new. */
function datedTable(table: LiveTable, tick: number): LiveTable {
  return { ...table, indexes: table.indexes.map((index) => (index.since < 0 ? { ...index, since: tick } : index)) };
}

function describe(transaction: Transaction): Buffer {
  const changes = Array.from(transaction.changes, ({ table, before, after }) => [
    before === undefined ? "insert" : after === undefined ? "delete" : "update",
    table.name,
  ]);
  return Buffer.from(JSON.stringify({ changes }));
}
