import type { Clock } from "../../port/clock.ts";
import type { Store, WriteOp as StoreOp } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { Draft } from "../commit/draft.ts";
import { EngineError } from "../errors.ts";
import type { Log } from "../log/log.ts";
import type { Quotas } from "../quota/quotas.ts";
import type { Idempotency, IdempotencyRecords } from "../stream/idempotency.ts";
import { type ConsistencyToken, tokenAt } from "../token.ts";
import { runSteps, runWithPauses, type Steps } from "../turns.ts";
import { type AppliedOps, type ApplyOptions, OpApplier } from "./apply-ops.ts";
import type { Catalog } from "./catalog.ts";
import {
  type CollectionMeta,
  type CollectionTotals,
  collectionKey,
  encodeCollection,
  readCollectionTotals,
} from "./collection-store.ts";
import { checkNotThrottled } from "./collections.ts";
import type { OpResult, WriteOp } from "./ops.ts";
import { type PreparedOps, prepareFitting, prepareOps } from "./prepare-ops.ts";
import type { CollectionRuntime } from "./runtime.ts";
import type { Runtimes } from "./runtimes.ts";
import { type Backpressure, backpressureOf, type CollectionSettings } from "./settings.ts";
import { WriteGroup } from "./write-group.ts";

export interface WriteReply {
  readonly token: ConsistencyToken;
  readonly results: readonly OpResult[];
  readonly replayed: boolean;
  readonly backlog: Backpressure;
}

type Written = Pick<WriteReply, "token" | "results">;

export interface DocumentWriterDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly log: Log;
  readonly idempotency: IdempotencyRecords;
  readonly quotas: Quotas;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
}

/** Batches from this size on are worked out before they are decided. */
const foreseenOpsMin = 32;
/** Smaller ones up to this many bytes are worked out at once: giving way would cost more than they do. */
const briefBytesMax = 64 * 1024;

/** What a batch comes to on the documents as they were before it is decided. */
interface Foreseen {
  /** The collection's changes up to then: as long as there are no more, nothing of it is different. */
  readonly changesBefore: number;
  readonly applied: AppliedOps;
  readonly stored: readonly StoreOp[];
}

/** How the operations of a request are named in errors. */
export const requestOps: ApplyOptions = { pathOf: (i, { kind }) => `ops[${i}].${kind}`, skipMissing: false };

/** Writes batches of operations: each is logged as one record and applied in the same commit, all of it or none. */
export class DocumentWriter {
  readonly #deps: DocumentWriterDeps;
  /** Of the changes that are being decided: those that take more writes, by collection, and all of them. */
  readonly #open = new Map<number, WriteGroup>();
  #groups: WriteGroup[] = [];
  #draft: Draft | undefined;

  constructor(deps: DocumentWriterDeps) {
    this.#deps = deps;
  }

  async write(
    meta: CollectionMeta,
    ops: readonly WriteOp[],
    bytes: number,
    idempotency: Idempotency | undefined,
    options: ApplyOptions,
  ): Promise<WriteReply> {
    const { store, settings, runtimes, committer, clock, idempotency: records } = this.#deps;
    const runtime = runtimes.of(meta);
    if (idempotency !== undefined) {
      // Before anything is checked: what was done is done, whatever the schema and the backlog have become.
      const recorded = records.replay<Written>(store, meta.streamId, idempotency);
      if (recorded !== undefined) return { ...recorded, replayed: true, backlog: backpressureOf(runtime, settings) };
    }
    checkNotThrottled(runtime, settings);
    const { schema, schemaVersion } = meta;
    runtime.writing++;
    try {
      const isBrief = ops.length < foreseenOpsMin && bytes <= briefBytesMax;
      const preparing = prepareOps(ops, schema, schemaVersion, options.pathOf);
      const prepared = isBrief ? runSteps(preparing) : await runWithPauses(preparing, clock);
      // Another write of the collection under way would most likely change what is foreseen.
      const foreseen =
        ops.length >= foreseenOpsMin && runtime.writing === 1
          ? await runWithPauses(this.#foresee(meta, prepared, options), clock)
          : undefined;
      const stage = (draft: Draft) =>
        this.#stage(draft, runtime, meta, { ops, bytes }, prepared, foreseen, idempotency, options);
      const done = await (isBrief
        ? committer.submit((draft) => runSteps(stage(draft)), bytes)
        : committer.submitSteps(stage, bytes));
      return { ...done, backlog: backpressureOf(runtime, settings) };
    } finally {
      runtime.writing--;
    }
  }

  /**
   * Works a large batch out before it is decided, since then nobody else is served: the decision only checks that the
   * collection has not changed. What fails is left to the decision, which has the last word.
   */
  *#foresee(meta: CollectionMeta, prepared: PreparedOps, options: ApplyOptions): Steps<Foreseen | undefined> {
    const { store, log, runtimes } = this.#deps;
    const changesBefore = readCollectionTotals(store, meta.id).changes;
    const next = log.stagedNext(runtimes.of(meta).stream, 0);
    const draft = new Draft(store);
    try {
      const applied = yield* new OpApplier(draft, meta.id, prepared.schema, next, options).apply(prepared.ops);
      return { changesBefore, applied, stored: draft.ops };
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return undefined;
    }
  }

  *#stage(
    draft: Draft,
    runtime: CollectionRuntime,
    meta: CollectionMeta,
    { ops, bytes }: { readonly ops: readonly WriteOp[]; readonly bytes: number },
    prepared: PreparedOps,
    foreseen: Foreseen | undefined,
    idempotency: Idempotency | undefined,
    options: ApplyOptions,
  ): Steps<Omit<WriteReply, "backlog">> {
    const { catalog, idempotency: records, quotas } = this.#deps;
    const current = catalog.staged(draft, meta);
    if (idempotency !== undefined) {
      const recorded = records.replay<Written>(draft, meta.streamId, idempotency);
      if (recorded !== undefined) return { ...recorded, replayed: true };
    }
    // What is over its quota gets below it by deleting.
    if (ops.some(({ kind }) => kind !== "delete")) quotas.admitBytes(meta.namespace, bytes);
    // The schema may have grown while the request waited.
    const { schema, schemaVersion } = current;
    const fitting =
      schemaVersion === prepared.schemaVersion
        ? prepared
        : yield* prepareOps(ops, schema, schemaVersion, options.pathOf);
    const still = fitting === prepared ? foreseen : undefined;
    const reply = yield* this.#stageOps(draft, runtime, current, fitting, options, still);
    if (idempotency !== undefined) records.record(draft, meta.streamId, idempotency, reply);
    return { ...reply, replayed: false };
  }

  /** Writes the operations that fit the schema. Returns, for each, why it was left out, or undefined. */
  stageFitting(draft: Draft, meta: CollectionMeta, ops: readonly WriteOp[]): readonly (EngineError | undefined)[] {
    const { prepared, misfits } = prepareFitting(ops, meta.schema, meta.schemaVersion);
    runSteps(this.#stageOps(draft, this.#deps.runtimes.of(meta), meta, prepared, requestOps));
    return misfits;
  }

  *#stageOps(
    draft: Draft,
    runtime: CollectionRuntime,
    meta: CollectionMeta,
    { ops, schema, addsFields }: PreparedOps,
    options: ApplyOptions,
    foreseen?: Foreseen,
  ): Steps<Written> {
    const group = this.#group(draft, runtime);
    const holds = foreseen?.changesBefore === group.totals.changes;
    if (holds) draft.add(foreseen.stored);
    const { next } = group;
    const { results, changes, documentsAdded } = holds
      ? foreseen.applied
      : yield* new OpApplier(draft, meta.id, schema, next, options).apply(ops);
    if (changes.length === 0) return { token: tokenAt(meta.streamId, next), results };
    if (addsFields) {
      const changed = { ...meta, schema, schemaVersion: meta.schemaVersion + 1 };
      draft.put(collectionKey(meta.namespaceId, meta.name), encodeCollection(changed));
      draft.onCommit(() => runtime.onMeta(changed));
    }
    // The index is to know the fields before the documents that have them.
    const fits = !addsFields && group.hasRoom(changes);
    const write = { changes, documentsAdded, nowMs: this.#deps.clock.nowMs() };
    (fits ? group : this.#newGroup(runtime, group.totals, next)).add(draft, write);
    return { token: tokenAt(meta.streamId, next + 1), results };
  }

  #group(draft: Draft, runtime: CollectionRuntime): WriteGroup {
    if (this.#draft !== draft) this.#begin(draft);
    const { id } = runtime.meta;
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const next = this.#deps.log.stagedNext(runtime.stream, 0);
    return this.#newGroup(runtime, readCollectionTotals(draft, id), next);
  }

  #begin(draft: Draft): void {
    this.#draft = draft;
    this.#open.clear();
    this.#groups = [];
    draft.beforeCommit(() => {
      this.#draft = undefined;
      for (const group of this.#groups) group.stageLog(draft, this.#deps.log);
      return undefined;
    });
  }

  #newGroup(runtime: CollectionRuntime, totals: CollectionTotals, next: number): WriteGroup {
    const group = new WriteGroup(runtime, totals, next);
    this.#open.set(runtime.meta.id, group);
    this.#groups.push(group);
    return group;
  }
}
