import { EngineError } from "../../errors.ts";
import { countMatches, evaluateFilter } from "../../search/filter/evaluate.ts";
import type { Filter } from "../../search/filter/filter.ts";
import type { Deletes } from "../../search/index/deletes.ts";
import type { IndexReader } from "../../search/index/reader.ts";
import { type Segment, SegmentReader } from "../../search/index/segment.ts";
import { TailIndex } from "../../search/index/tail.ts";
import type { Manifest, SegmentEntry } from "../collection-store.ts";
import { decodeDocument } from "../document-codec.ts";
import type { Schema } from "../schema.ts";
import { StoredExtractor } from "../stored-extract.ts";
import { decodeChanges } from "../write-record.ts";
import type { FrozenDeletes, MatchReply } from "./messages.ts";

/** Loads what a manifest names. */
export interface SegmentLoader {
  segment(entry: SegmentEntry): Promise<Segment>;
  deletes(entry: SegmentEntry): Promise<Deletes>;
}

interface OpenSegment {
  readonly entry: SegmentEntry;
  /** Without what was deleted up to now. */
  readonly current: SegmentReader;
  /** Without what was deleted up to the manifest only: what an eventual read sees. */
  readonly published: SegmentReader;
}

/** Changes in memory. `upTo` is set when the tail was frozen: no later change goes into it. */
interface Tail {
  index: TailIndex;
  /** Every id that a change went to while this tail took them. */
  readonly touched: Set<number>;
  upTo: number | undefined;
}

/** One collection's index: its segments and the tails in memory. */
export class CollectionIndex {
  #schema: Schema;
  #extractor: StoredExtractor;
  #segments: OpenSegment[] = [];
  #tails: Tail[];
  #applied: number;

  constructor(schema: Schema, applied: number) {
    this.#schema = schema;
    this.#extractor = new StoredExtractor(schema);
    this.#tails = [newTail(schema)];
    this.#applied = applied;
  }

  static async open(schema: Schema, manifest: Manifest, loader: SegmentLoader): Promise<CollectionIndex> {
    const index = new CollectionIndex(schema, manifest.applied);
    await index.publish(manifest, loader);
    return index;
  }

  get schema(): Schema {
    return this.#schema;
  }

  get segments(): readonly SegmentEntry[] {
    return this.#segments.map(({ entry }) => entry);
  }

  get tailDocuments(): number {
    return this.#tails.reduce((sum, { index }) => sum + index.liveCount, 0);
  }

  /** The parts that a read goes through. */
  readers(eventual: boolean): IndexReader[] {
    if (eventual) return this.#segments.map(({ published }) => published);
    const tails = this.#tails.map(({ index }) => index).filter((tail) => tail.docCount > 0);
    return [...this.#segments.map(({ current }) => current), ...tails];
  }

  /** Takes the changes of one record; a record that was taken before changes nothing. */
  apply(next: number, changes: Uint8Array): void {
    if (next <= this.#applied) return;
    const active = this.#tails.at(-1)!;
    for (const { id, version, document } of decodeChanges(changes)) {
      active.touched.add(id);
      for (const { current } of this.#segments) current.delete(id);
      for (const tail of this.#tails) tail.index.delete(id);
      if (document !== undefined) {
        active.index.add(id, version, this.#extractor.extract(decodeDocument(document)));
      }
    }
    this.#applied = next;
  }

  /** A changed schema is for documents from here on; earlier ones are filled in when their part is built anew. */
  setSchema(schema: Schema): void {
    this.#schema = schema;
    this.#extractor = new StoredExtractor(schema);
    const active = this.#tails.at(-1)!;
    if (active.index.docCount === 0) active.index = new TailIndex(schema);
    else this.#tails.push(newTail(schema));
  }

  freeze(upTo: number): FrozenDeletes {
    if (this.#applied !== upTo) {
      throw new EngineError("internal", `the index is at offset ${this.#applied}, not at ${upTo}`);
    }
    for (const tail of this.#tails) tail.upTo ??= upTo;
    this.#tails.push(newTail(this.#schema));
    return this.#segments
      .filter(({ current, entry }) => current.deletes.count !== entry.deleted)
      .map(({ current, entry }) => ({
        segment: entry.id,
        words: current.deletes.toWords(),
        count: current.deletes.count,
      }));
  }

  /** Goes over to a manifest: its new segments take the place of the tails that they were made from. */
  async publish(manifest: Manifest, loader: SegmentLoader): Promise<void> {
    const known = new Map(this.#segments.map((open) => [open.entry.id, open]));
    const loaded = await Promise.all(
      manifest.segments.map(async (entry) => {
        const open = known.get(entry.id);
        const segment = open?.current.segment ?? (await loader.segment(entry));
        return { entry, segment, open, deletes: await loader.deletes(entry) };
      }),
    );
    const remaining = this.#tails.filter(({ upTo }) => upTo === undefined || upTo > manifest.applied);
    this.#segments = loaded.map(({ entry, segment, open, deletes }) => {
      const current = open?.current ?? new SegmentReader(segment, deletes.snapshot());
      if (open === undefined) {
        // Changes after the manifest that its new segments do not know of.
        for (const { touched } of remaining) for (const id of touched) current.delete(id);
      }
      return { entry, current, published: new SegmentReader(segment, deletes) };
    });
    this.#tails = remaining;
  }

  count(filter: Filter, eventual: boolean): number {
    return countMatches(filter, this.readers(eventual));
  }

  match(filter: Filter, afterId: number, limit: number, eventual: boolean): MatchReply {
    const found: { id: number; version: number }[] = [];
    for (const reader of this.readers(eventual)) {
      const matches = evaluateFilter(filter, reader);
      const { ids, versions } = reader;
      for (let doc = matches.next(0); doc !== -1; doc = matches.next(doc + 1)) {
        if (ids[doc]! > afterId) found.push({ id: ids[doc]!, version: versions[doc]! });
      }
    }
    found.sort((a, b) => a.id - b.id);
    const page = found.slice(0, limit);
    return {
      ids: Float64Array.from(page, ({ id }) => id),
      versions: Float64Array.from(page, ({ version }) => version),
      total: found.length,
    };
  }
}

function newTail(schema: Schema): Tail {
  return { index: new TailIndex(schema), touched: new Set(), upTo: undefined };
}
