import type { Clock } from "../../port/clock.ts";
import type { Draft } from "../commit/draft.ts";
import { EngineError } from "../errors.ts";
import type { Log } from "../log/log.ts";
import { encodeBatch } from "../log/record-batch.ts";
import type { ConsistencyToken } from "../token.ts";
import { type AppliedOps, OpApplier } from "./apply-ops.ts";
import {
  type CollectionMeta,
  collectionKey,
  encodeCollection,
  readCollectionTotals,
  stageCollectionTotals,
} from "./collection-store.ts";
import type { OpResult, WriteOp } from "./ops.ts";
import type { Runtimes } from "./runtimes.ts";
import { encodeChanges } from "./write-record.ts";

/** The token of a collection's log up to an offset. */
export function tokenAt(streamId: number, next: number): ConsistencyToken {
  return next === 0 ? [] : [{ stream: streamId, partition: 0, offset: next - 1 }];
}

export interface StagedWrite {
  readonly token: ConsistencyToken;
  readonly results: readonly OpResult[];
}

/**
 * The one way into a collection: operations become one record of its log, its documents and its totals in one change,
 * and the index hears of them once they are durable.
 */
export class DocumentWriter {
  readonly #runtimes: Runtimes;
  readonly #log: Log;
  readonly #clock: Clock;

  constructor(runtimes: Runtimes, log: Log, clock: Clock) {
    this.#runtimes = runtimes;
    this.#log = log;
    this.#clock = clock;
  }

  /** All operations or, by throwing, none. `meta` is the collection as the change sees it. */
  stage(draft: Draft, meta: CollectionMeta, ops: readonly WriteOp[]): StagedWrite {
    const applier = new OpApplier(draft, meta.id, meta.schema);
    const results = ops.map((op, i) => applier.apply(op, `ops[${i}].${op.kind}.`));
    return { token: this.#stageApplied(draft, meta, applier.finish()), results };
  }

  /** The operations that fit the schema. Returns, for each, why it was left out, or undefined. */
  stageFitting(draft: Draft, meta: CollectionMeta, ops: readonly WriteOp[]): (EngineError | undefined)[] {
    const applier = new OpApplier(draft, meta.id, meta.schema);
    const misfits = ops.map((op) => {
      const result = applier.applyIfItFits(op);
      return result instanceof EngineError ? result : undefined;
    });
    this.#stageApplied(draft, meta, applier.finish());
    return misfits;
  }

  #stageApplied(draft: Draft, meta: CollectionMeta, applied: AppliedOps): ConsistencyToken {
    const { changes, schema, documentsAdded } = applied;
    const runtime = this.#runtimes.of(meta);
    if (changes.length === 0) return tokenAt(meta.streamId, this.#log.stagedNext(runtime.stream, 0));
    const nowMs = this.#clock.nowMs();
    const value = encodeChanges(changes);
    const { lastOffset } = this.#log.stageAppend(draft, runtime.stream, 0, encodeBatch([{ value }], nowMs));
    const before = readCollectionTotals(draft, meta.id);
    const totals = {
      changes: before.changes + changes.length,
      bytes: before.bytes + value.length,
      documents: before.documents + documentsAdded,
    };
    stageCollectionTotals(draft, meta.id, totals);
    if (schema !== meta.schema) {
      const changed = { ...meta, schema, schemaVersion: meta.schemaVersion + 1 };
      draft.put(collectionKey(meta.namespaceId, meta.name), encodeCollection(changed));
      draft.onCommit(() => runtime.onSchema(changed));
    }
    draft.onCommit(() => runtime.onCommitted(lastOffset + 1, value, totals, nowMs));
    return tokenAt(meta.streamId, lastOffset + 1);
  }
}
