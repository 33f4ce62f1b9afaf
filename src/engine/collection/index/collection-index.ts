import assert from "node:assert/strict";
import type { SharedBytes, SharedSegments } from "../../../port/shared-bytes.ts";
import type { VectorGraph } from "../../../port/vector-graph.ts";
import { EngineError } from "../../errors.ts";
import { pinReaders } from "../../retrieval/pin.ts";
import type { Schema } from "../../schema/schema.ts";
import { countMatchesSteps, evaluateFilterSteps } from "../../search/filter/evaluate.ts";
import type { Filter } from "../../search/filter/filter.ts";
import { FloatSlab } from "../../search/float-slab.ts";
import type { Bitset } from "../../search/index/bitset.ts";
import type { Deletes } from "../../search/index/deletes.ts";
import type { IndexReader } from "../../search/index/reader.ts";
import { type Segment, SegmentReader } from "../../search/index/segment.ts";
import { TailIndex } from "../../search/index/tail.ts";
import type { Steps } from "../../turns.ts";
import type { Manifest, SegmentEntry } from "../collection-store.ts";
import { decodeDocument } from "../document-codec.ts";
import { StoredExtractor } from "../stored-extract.ts";
import { decodeChanges } from "../write-record.ts";
import type { FrozenTail, IndexQuery, MatchReply } from "./messages.ts";

/** Loads what a manifest names. */
export interface SegmentLoader {
  segment(entry: SegmentEntry): Promise<Segment>;
  /** `loaded` is what another thread has of it. */
  sharedSegment(entry: SegmentEntry, loaded: SharedBytes | undefined): Promise<SharedSegment>;
  deletes(entry: SegmentEntry): Promise<Deletes>;
  graphs(entry: SegmentEntry, loaded: SharedSegments): Promise<SegmentGraphs>;
}

export interface SharedSegment {
  readonly segment: Segment;
  readonly bytes: SharedBytes;
}

/** A segment's vector graphs by field. */
export type SegmentGraphs = ReadonlyMap<string, VectorGraph>;

interface OpenSegment {
  readonly entry: SegmentEntry;
  readonly bytes: SharedBytes;
  /** Without what was deleted up to now. */
  readonly current: SegmentReader;
  /** Without what was deleted up to the manifest only: what an eventual read sees. */
  readonly published: SegmentReader;
  readonly graphs: SegmentGraphs;
}

/** Changes in memory. `upTo` is set when the tail was frozen: no later change goes into it. */
interface Tail {
  readonly index: TailIndex;
  /** Every id that a change went to while this tail took them. */
  readonly touched: Set<number>;
  upTo: number | undefined;
  /** What it was made of; undefined once that was handed over, or where it is not kept. */
  changes: Uint8Array<ArrayBuffer>[] | undefined;
}

/** One collection's index: its segments and the tails in memory. */
export class CollectionIndex {
  #schema: Schema;
  #extractor: StoredExtractor;
  #segments: OpenSegment[] = [];
  #tails: Tail[];
  /** The vectors of the document that is being taken; the tail keeps copies. */
  readonly #passing = new FloatSlab(0);
  readonly #keeps: boolean;
  #applied: number;
  /** The offset that the segments go up to. */
  #published: number;

  /** `keeps`: what the tails are made of is kept for the segments that take their place. */
  constructor(schema: Schema, applied: number, keeps = false) {
    this.#schema = schema;
    this.#extractor = new StoredExtractor(schema);
    this.#keeps = keeps;
    this.#tails = [newTail(schema, keeps)];
    this.#applied = applied;
    this.#published = applied;
  }

  static async open(
    schema: Schema,
    manifest: Manifest,
    loader: SegmentLoader,
    loaded: SharedSegments = {},
    keeps = false,
  ): Promise<CollectionIndex> {
    const index = new CollectionIndex(schema, manifest.applied, keeps);
    await index.publish(manifest, loader, loaded);
    return index;
  }

  get schema(): Schema {
    return this.#schema;
  }

  /** The offset that the last manifest goes up to. */
  get published(): number {
    return this.#published;
  }

  get segments(): readonly SegmentEntry[] {
    return this.#segments.map(({ entry }) => entry);
  }

  /** The bytes of the segments and their graphs, for other threads that open the same manifest. */
  get sharedSegments(): SharedSegments {
    const shared: Record<string, SharedBytes> = {};
    for (const { entry, bytes, graphs } of this.#segments) {
      shared[entry.path] = bytes;
      for (const [field, graph] of graphs) if (graph.shared !== undefined) shared[entry.graphs[field]!] = graph.shared;
    }
    return shared;
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

  /** The vector graphs of those parts that have some: the segments come first, and a tail has none. */
  get graphs(): (SegmentGraphs | undefined)[] {
    return this.#segments.map(({ graphs }) => (graphs.size === 0 ? undefined : graphs));
  }

  /**
   * Applies the changes of records and owns their memory. A record that was applied before is ignored. `pause` is called after each
   * document.
   */
  apply(next: number, changes: Uint8Array<ArrayBuffer>, pause: () => void = () => {}): void {
    if (next <= this.#applied) return;
    const active = this.#tails.at(-1)!;
    active.changes?.push(changes);
    for (const { id, version, document } of decodeChanges(changes)) {
      active.touched.add(id);
      for (const { current } of this.#segments) current.delete(id);
      for (const tail of this.#tails) tail.index.delete(id);
      if (document !== undefined) {
        this.#passing.reset();
        active.index.add(id, version, this.#extractor.extract(decodeDocument(document, this.#passing.take)));
      }
      pause();
    }
    this.#applied = next;
  }

  /** A changed schema is for documents from here on; earlier ones are filled in when their part is built anew. */
  setSchema(schema: Schema): void {
    this.#schema = schema;
    this.#extractor = new StoredExtractor(schema);
    this.#tails.at(-1)!.index.extend(schema);
  }

  freeze(upTo: number): FrozenTail {
    if (this.#applied !== upTo) {
      throw new EngineError("internal", `the index is at offset ${this.#applied}, not at ${upTo}`);
    }
    const changes = this.#tails.flatMap((tail) => tail.changes ?? [undefined]);
    for (const tail of this.#tails) {
      tail.upTo ??= upTo;
      tail.changes = undefined;
    }
    this.#tails.push(newTail(this.#schema, this.#keeps));
    const deletes = this.#segments
      .filter(({ current, entry }) => current.deletes.count !== entry.deleted)
      .map(({ current, entry }) => ({
        segment: entry.id,
        words: current.deletes.toWords(),
        count: current.deletes.count,
      }));
    return { deletes, changes: changes.every((each) => each !== undefined) ? changes : undefined };
  }

  /** Goes over to a manifest: its new segments take the place of the tails that they were made from. */
  async publish(manifest: Manifest, loader: SegmentLoader, shared: SharedSegments = {}): Promise<void> {
    const known = new Map(this.#segments.map((open) => [open.entry.id, open]));
    const loaded = await Promise.all(
      manifest.segments.map(async (entry) => {
        const open = known.get(entry.id);
        const loaded = shared[entry.path];
        const { segment, bytes } =
          open === undefined
            ? await loader.sharedSegment(entry, loaded)
            : { segment: open.current.segment, bytes: open.bytes };
        const published =
          open?.entry.deletesPath === entry.deletesPath
            ? open.published
            : new SegmentReader(segment, await loader.deletes(entry));
        const graphs = open?.graphs ?? (await loader.graphs(entry, shared));
        return { entry, bytes, open, published, graphs };
      }),
    );
    this.#checkFits(manifest);
    const remaining = this.#tails.filter(({ upTo }) => upTo === undefined || upTo > manifest.applied);
    this.#segments = loaded.map(({ entry, bytes, open, published, graphs }) => {
      const current = open?.current ?? new SegmentReader(published.segment, published.deletes.snapshot());
      if (open === undefined) {
        // Changes after the manifest that its new segments do not know of.
        for (const { touched } of remaining) for (const id of touched) current.delete(id);
      }
      return { entry, bytes, current, published, graphs };
    });
    assert(remaining.at(-1)?.upTo === undefined, "the last tail takes what comes next");
    this.#tails = remaining;
  }

  /** What the manifest's segments hold must be in tails that go with it, or documents would be there twice. */
  #checkFits(manifest: Manifest): void {
    const { applied } = manifest;
    if (applied === this.#published) return;
    if (!this.#tails.some(({ upTo }) => upTo === applied)) {
      throw new EngineError("unavailable", `no tail of the index ends at offset ${applied}; retry`);
    }
    this.#published = applied;
  }

  /** No change may be taken between the steps. */
  /** As it is now; changes may come between the steps. */
  count({ filter, eventual }: Extract<IndexQuery, { kind: "count" }>): Steps<number> {
    return countMatchesSteps(filter, pinReaders(this.readers(eventual)));
  }

  match({ filter, afterId, limit, eventual }: Extract<IndexQuery, { kind: "match" }>): Steps<MatchReply> {
    return matchSteps(pinReaders(this.readers(eventual)), filter, afterId, limit);
  }
}

function* matchSteps(
  readers: readonly IndexReader[],
  filter: Filter,
  afterId: number,
  limit: number,
): Steps<MatchReply> {
  const lists: Uint32Array[] = [];
  for (const reader of readers) lists.push(docsAfter(reader, yield* evaluateFilterSteps(filter, reader), afterId));
  const total = lists.reduce((sum, docs) => sum + docs.length, 0);
  const count = Math.min(total, limit);
  const ids = new Float64Array(count);
  const versions = new Float64Array(count);
  const heads = new Uint32Array(readers.length);
  for (let n = 0; n < count; n++) {
    let best = -1;
    let bestId = Number.POSITIVE_INFINITY;
    for (let r = 0; r < readers.length; r++) {
      const head = heads[r]!;
      if (head === lists[r]!.length) continue;
      const id = readers[r]!.ids[lists[r]![head]!]!;
      if (id < bestId) {
        best = r;
        bestId = id;
      }
    }
    ids[n] = bestId;
    versions[n] = readers[best]!.versions[lists[best]![heads[best]!++]!]!;
  }
  return { ids, versions, total };
}

/** The matches of one part with an id above `afterId`, by id. */
function docsAfter(reader: IndexReader, matches: Bitset, afterId: number): Uint32Array {
  const { ids } = reader;
  const docs = matches.toArray();
  if (reader.idsAscending) {
    let from = 0;
    while (from < docs.length && ids[docs[from]!]! <= afterId) from++;
    return docs.subarray(from);
  }
  return docs.filter((doc) => ids[doc]! > afterId).sort((a, b) => ids[a]! - ids[b]!);
}

function newTail(schema: Schema, keeps: boolean): Tail {
  return { index: new TailIndex(schema), touched: new Set(), upTo: undefined, changes: keeps ? [] : undefined };
}
