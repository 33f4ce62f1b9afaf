import type { Clock } from "../../port/clock.ts";
import type { Reader, Store } from "../../port/store.ts";
import { type Catalog, collectionMissing } from "../collection/catalog.ts";
import type { CollectionMeta } from "../collection/collection-store.ts";
import type { DocumentWriter } from "../collection/document-writer.ts";
import type { WriteOp } from "../collection/ops.ts";
import type { Runtimes } from "../collection/runtimes.ts";
import { backpressureOf, type CollectionSettings } from "../collection/settings.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { conflict, EngineError } from "../errors.ts";
import { makeKey, tables } from "../keys.ts";
import type { BatchCursor } from "../log/record-batch.ts";
import type { Metastore } from "../metastore/metastore.ts";
import type { Quotas } from "../quota/quotas.ts";
import { decode, encode } from "../stored-value.ts";
import { type CollectionRule, parseCollectionOptions } from "./collection-options.ts";
import { readTotals, stageForgetState, stageTotals } from "./link-store.ts";
import type { LinkContext, LinkStep, LinkTarget, LinkTotals } from "./target.ts";

export interface CollectionTargetDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly writer: DocumentWriter;
  readonly quotas: Quotas;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
}

/** A record that became no document, and why. */
interface Misfit {
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
}

/** What a link keeps beside its offsets. */
interface FillState {
  /** The collection that holds what the link has applied. */
  readonly collection: number;
  readonly errors: readonly Misfit[];
}

/** A step is one commit: large enough to share its sync, small enough not to hold the listener's thread. */
const stepRecordsMax = 500;
const stepBytesMax = 1024 * 1024;
const errorsMax = 20;
const reasonLengthMax = 500;
const throttledLookMs = 100;

/**
 * Documents of a collection. They go the way of a user's writes, in the commit that moves the link's offsets. A
 * collection that was dropped and created again is another one: the link fills it from the start of its source.
 */
export class CollectionTarget implements LinkTarget {
  readonly kind = "collection";
  readonly #deps: CollectionTargetDeps;

  constructor(deps: CollectionTargetDeps) {
    this.#deps = deps;
  }

  checkOptions(options: unknown): void {
    parseCollectionOptions(options);
  }

  async ready(link: LinkContext, signal: AbortSignal): Promise<boolean> {
    const { store, committer, catalog } = this.#deps;
    const meta = await this.#unthrottled(link, signal);
    const filled = readFill(store, link.id)?.collection;
    if (signal.aborted || filled === meta.id) return false;
    await committer.submit((draft) => {
      catalog.staged(draft, meta);
      const { version } = readTotals(draft, link.id);
      stageForgetState(draft, link.id);
      if (filled !== undefined) stageTotals(draft, link.id, { version: version + 1, skipped: 0, lost: 0 });
      stageFill(draft, link.id, { collection: meta.id, errors: [] });
    });
    return filled !== undefined;
  }

  holds(link: LinkContext, view: Reader): boolean {
    const filled = readFill(view, link.id)?.collection;
    if (filled === undefined) return true;
    try {
      return this.#find(link).id === filled;
    } catch (error) {
      // While there is no collection, the link keeps what it has done.
      if (error instanceof EngineError && error.reason === "not_found") return true;
      throw error;
    }
  }

  begin(link: LinkContext): LinkStep {
    return new CollectionStep(link, this.#find(link), this.#deps);
  }

  stageForget(draft: Draft, linkId: number): boolean {
    draft.delete(fillKey(linkId));
    return false;
  }

  async detail(link: LinkContext, totals: LinkTotals, view: Reader): Promise<readonly string[]> {
    return [
      `"version":${totals.version}`,
      `"skipped":${totals.skipped}`,
      `"errors":${JSON.stringify((this.holds(link, view) && readFill(view, link.id)?.errors) || [])}`,
      ...(totals.lost > 0 ? [`"lost":${totals.lost}`] : []),
    ];
  }

  /** The collection, once its indexes have caught up with its writes. */
  async #unthrottled(link: LinkContext, signal: AbortSignal): Promise<CollectionMeta> {
    const { runtimes, settings, clock } = this.#deps;
    for (;;) {
      // Looked up each time: it may be dropped meanwhile.
      const meta = this.#find(link);
      if (signal.aborted || !backpressureOf(runtimes.of(meta), settings).throttled) return meta;
      await clock.sleep(throttledLookMs, signal);
    }
  }

  #find({ namespace, target }: LinkContext): CollectionMeta {
    const meta = this.#deps.catalog.find(namespace, target.name);
    // An alias may move to another collection, which would not hold what was applied before.
    if (meta.name !== target.name) throw collectionMissing(namespace, target.name);
    return meta;
  }
}

class CollectionStep implements LinkStep {
  readonly #link: LinkContext;
  readonly #meta: CollectionMeta;
  readonly #deps: CollectionTargetDeps;
  readonly #rule: CollectionRule;
  readonly #ops: WriteOp[] = [];
  /** Where each operation comes from. */
  readonly #places: Omit<Misfit, "reason">[] = [];
  readonly #unreadable: Misfit[] = [];
  #partitions: number | undefined;
  #bytes = 0;

  constructor(link: LinkContext, meta: CollectionMeta, deps: CollectionTargetDeps) {
    this.#link = link;
    this.#meta = meta;
    this.#deps = deps;
    this.#rule = parseCollectionOptions(link.options);
  }

  get size(): number {
    return this.#ops.length;
  }

  take(cursor: BatchCursor, partition: number): boolean {
    const { offset } = cursor;
    try {
      this.#ops.push(this.#rule.op(cursor, () => offset * this.#sourcePartitions() + partition));
      this.#places.push({ partition, offset });
    } catch (error) {
      this.#unreadable.push({ partition, offset, reason: reasonOf(error) });
    }
    this.#bytes += Math.max(cursor.valueLength, 0);
    return this.#ops.length + this.#unreadable.length < stepRecordsMax && this.#bytes < stepBytesMax;
  }

  stage(draft: Draft): number {
    const { catalog, writer, quotas } = this.#deps;
    const meta = catalog.staged(draft, this.#meta);
    // What is over its quota gets below it by deleting, here too.
    if (this.#ops.some(({ kind }) => kind !== "delete")) quotas.admitBytes(meta.namespace, this.#bytes);
    const fill = readFill(draft, this.#link.id);
    if (fill?.collection !== meta.id) throw conflict("the collection was made anew meanwhile");
    const misfits = writer.stageFitting(draft, meta, this.#ops).flatMap((error, i): Misfit[] => {
      return error === undefined ? [] : [{ ...this.#places[i]!, reason: reasonOf(error) }];
    });
    const skipped = [...this.#unreadable, ...misfits].sort(byPlace);
    if (skipped.length === 0) return 0;
    const errors = [...fill.errors, ...skipped].slice(-errorsMax);
    stageFill(draft, this.#link.id, { collection: meta.id, errors });
    return skipped.length;
  }

  /** With several partitions an offset alone would name several records. */
  #sourcePartitions(): number {
    const { namespace, source } = this.#link;
    this.#partitions ??= this.#deps.metastore.stream(namespace, source).partitions;
    return this.#partitions;
  }
}

function byPlace(a: Misfit, b: Misfit): number {
  return a.partition - b.partition || a.offset - b.offset;
}

/** Anything but bad input is no fault of the record, and stops the link instead. */
function reasonOf(error: unknown): string {
  if (!(error instanceof EngineError) || error.reason !== "invalid_argument") throw error;
  return error.message.slice(0, reasonLengthMax);
}

function fillKey(linkId: number): Buffer {
  return makeKey(tables.linkFill, linkId);
}

function readFill(reader: Pick<Reader, "get">, linkId: number): FillState | undefined {
  const stored = reader.get(fillKey(linkId));
  return stored === undefined ? undefined : decode<FillState>(stored);
}

function stageFill(draft: Draft, linkId: number, state: FillState): void {
  draft.put(fillKey(linkId), encode(state));
}
