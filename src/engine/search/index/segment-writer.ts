import { type FieldSpec, isNumeric, type Schema, type VectorSpec } from "../../schema/schema.ts";
import { formatSchema } from "../../schema/schema-parse.ts";
import { runSteps, type Steps } from "../../turns.ts";
import type { ExtractedDocument } from "../document.ts";
import { Bitset } from "./bitset.ts";
import { type DocMaps, mapDocs, unmapped } from "./doc-map.ts";
import { F32List, F64List, U32List } from "./growable.ts";
import { mergeTerms } from "./merge-terms.ts";
import type { IndexReader } from "./reader.ts";
import { SectionWriter } from "./segment-format.ts";
import { TailIndex } from "./tail.ts";
import { mergeText } from "./text-merge.ts";
import { DictionaryWriter } from "./text-writer.ts";

export { runSteps, type Steps };

/** Rows that one step copies at most. */
const stepRows = 4096;

export interface SegmentDocument {
  readonly id: number;
  readonly version: number;
  readonly document: ExtractedDocument;
}

/**
 * Writes the live documents of the given parts into one segment, in the order of their ids: sealing a tail and merging
 * segments are the same thing. Runs in short steps, so that it can share a thread; memory is bounded by the output
 * and the largest term. No two parts may hold a live document of the same id.
 */
export function* segmentSteps(schema: Schema, readers: readonly IndexReader[]): Steps<Uint8Array<ArrayBuffer>> {
  const out = new SectionWriter();
  const maps = yield* mapDocs(readers);
  const ids = new Float64Array(maps.count);
  const versions = new Float64Array(maps.count);
  for (let doc = 0; doc < maps.count; doc++) {
    const reader = readers[maps.readerOf[doc]!]!;
    ids[doc] = reader.ids[maps.docOf[doc]!]!;
    versions[doc] = reader.versions[maps.docOf[doc]!]!;
  }
  out.add("ids", ids);
  out.add("versions", versions);
  for (const [i, field] of schema.fields.entries()) {
    if (field.indexed || field.fast) yield* writeField(`f${i}`, field, readers, maps, out);
  }
  for (const [i, vector] of schema.vectors.entries()) yield* writeVectors(`v${i}`, vector, readers, maps, out);
  for (const [i, sparse] of schema.sparseVectors.entries()) {
    yield* writeSparse(`s${i}`, sparse.name, readers, maps, out);
  }
  return out.finish({ schema: formatSchema(schema), docCount: maps.count });
}

/** Seals a tail, or merges segments, at once. */
export function mergeSegments(schema: Schema, readers: readonly IndexReader[]): Uint8Array<ArrayBuffer> {
  return runSteps(segmentSteps(schema, readers));
}

/** Builds a segment straight from documents; of several with one id the last counts. */
export function buildSegment(schema: Schema, documents: Iterable<SegmentDocument>): Uint8Array<ArrayBuffer> {
  const tail = new TailIndex(schema);
  for (const { id, version, document } of documents) tail.add(id, version, document);
  return mergeSegments(schema, [tail]);
}

function* writeField(
  prefix: string,
  field: FieldSpec,
  readers: readonly IndexReader[],
  maps: DocMaps,
  out: SectionWriter,
): Steps<void> {
  const present = new Bitset(maps.count);
  const sources = readers.map((reader) => reader.present(field.name));
  for (let doc = 0; doc < maps.count; doc++) {
    if (sources[maps.readerOf[doc]!]?.has(maps.docOf[doc]!)) present.add(doc);
  }
  out.add(`${prefix}.present`, present.words);
  yield;
  const { kind } = field.kind;
  if (kind === "text" && field.indexed) yield* mergeText(`${prefix}.text`, field, readers, maps, out);
  if (kind === "keyword" || (kind === "text" && field.fast)) {
    yield* writeStrings(`${prefix}.strings`, field, readers, maps, out);
  }
  if (isNumeric(field.kind)) yield* writeNumbers(`${prefix}.numbers`, field, readers, maps, out);
}

function* writeStrings(
  prefix: string,
  field: FieldSpec,
  readers: readonly IndexReader[],
  maps: DocMaps,
  out: SectionWriter,
): Steps<void> {
  const sources = readers.map((reader) => reader.strings(field.name));
  const columns = sources.map((source) => source?.column);
  // Terms that only dead documents hold are left behind.
  const used = sources.map((source) => new Uint8Array(source?.termCount ?? 0));
  for (let doc = 0; doc < maps.count; doc++) {
    const column = columns[maps.readerOf[doc]!];
    if (column === undefined) continue;
    const from = maps.docOf[doc]!;
    for (let i = column.starts[from]!; i < column.starts[from + 1]!; i++) {
      used[maps.readerOf[doc]!]![column.values[i]!] = 1;
    }
    if (doc % stepRows === 0) yield;
  }
  const dictionary = new DictionaryWriter();
  const ordinals = sources.map((source) => new Uint32Array(source?.termCount ?? 0));
  let terms = 0;
  yield* mergeTerms(sources, used, (term, olds) => {
    dictionary.push(term);
    for (let r = 0; r < olds.length; r++) if (olds[r] !== -1) ordinals[r]![olds[r]!] = terms;
    terms++;
    return 0;
  });
  const starts = new Uint32Array(maps.count + 1);
  const values = new U32List();
  for (let doc = 0; doc < maps.count; doc++) {
    const reader = maps.readerOf[doc]!;
    const column = columns[reader];
    const from = maps.docOf[doc]!;
    if (column !== undefined) {
      for (let i = column.starts[from]!; i < column.starts[from + 1]!; i++) {
        values.push(ordinals[reader]![column.values[i]!]!);
      }
    }
    starts[doc + 1] = values.length;
    if (doc % stepRows === 0) yield;
  }
  dictionary.finish(prefix, out);
  out.add(`${prefix}.starts`, starts);
  out.add(`${prefix}.values`, values.view());
  if (field.indexed) writeStringPostings(prefix, starts, values.view(), terms, out);
}

/** The column turned around, by counting: which documents have each term. */
function writeStringPostings(
  prefix: string,
  starts: Uint32Array,
  values: Uint32Array,
  terms: number,
  out: SectionWriter,
): void {
  const postingStarts = new Uint32Array(terms + 1);
  for (let i = 0; i < values.length; i++) postingStarts[values[i]! + 1]!++;
  for (let term = 0; term < terms; term++) postingStarts[term + 1]! += postingStarts[term]!;
  const next = postingStarts.slice();
  const docs = new Uint32Array(values.length);
  for (let doc = 0; doc < starts.length - 1; doc++) {
    for (let i = starts[doc]!; i < starts[doc + 1]!; i++) docs[next[values[i]!]!++] = doc;
  }
  out.add(`${prefix}.postingStarts`, postingStarts);
  out.add(`${prefix}.postingDocs`, docs);
}

function* writeNumbers(
  prefix: string,
  field: FieldSpec,
  readers: readonly IndexReader[],
  maps: DocMaps,
  out: SectionWriter,
): Steps<void> {
  const columns = readers.map((reader) => reader.numbers(field.name)?.column);
  const starts = new Uint32Array(maps.count + 1);
  const values = new F64List();
  for (let doc = 0; doc < maps.count; doc++) {
    const column = columns[maps.readerOf[doc]!];
    const from = maps.docOf[doc]!;
    if (column !== undefined) {
      for (let i = column.starts[from]!; i < column.starts[from + 1]!; i++) values.push(column.values[i]!);
    }
    starts[doc + 1] = values.length;
    if (doc % stepRows === 0) yield;
  }
  out.add(`${prefix}.starts`, starts);
  out.add(`${prefix}.values`, values.view());
  if (!field.indexed) return;
  // The distinct values in order, then by counting the documents of each: sorts numbers natively, never pairs.
  const distinct = distinctSorted(values.view());
  yield;
  const ends = new Uint32Array(distinct.length + 1);
  const places = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const place = lowerBound(distinct, values.data[i]!);
    places[i] = place;
    ends[place + 1]!++;
  }
  yield;
  for (let i = 0; i < distinct.length; i++) ends[i + 1]! += ends[i]!;
  const next = ends.slice();
  const docs = new Uint32Array(values.length);
  for (let doc = 0; doc < maps.count; doc++) {
    for (let i = starts[doc]!; i < starts[doc + 1]!; i++) docs[next[places[i]!]!++] = doc;
  }
  out.add(`${prefix}.sortedValues`, distinct);
  out.add(`${prefix}.sortedStarts`, ends);
  out.add(`${prefix}.sortedDocs`, docs);
}

function distinctSorted(values: Float64Array): Float64Array {
  const sorted = values.slice().sort();
  let count = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[count++] = sorted[i]!;
  }
  return sorted.slice(0, count);
}

/** The first place whose value is at least `value`. */
export function lowerBound(values: Float64Array, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function* writeVectors(
  prefix: string,
  { name, dim }: VectorSpec,
  readers: readonly IndexReader[],
  maps: DocMaps,
  out: SectionWriter,
): Steps<void> {
  const sources = readers.map((reader) => reader.vectors(name));
  const docs = new U32List();
  for (let doc = 0; doc < maps.count; doc++) {
    if ((sources[maps.readerOf[doc]!]?.rowOf(maps.docOf[doc]!) ?? -1) !== -1) docs.push(doc);
  }
  yield;
  // Vectors are most of a segment's bytes: made at their full size at once, not grown.
  const data = new Float32Array(docs.length * dim);
  const inverseNorms = new Float64Array(docs.length);
  for (let row = 0; row < docs.length; row++) {
    const doc = docs.data[row]!;
    const source = sources[maps.readerOf[doc]!]!;
    const from = source.rowOf(maps.docOf[doc]!);
    data.set(source.data.subarray(from * dim, (from + 1) * dim), row * dim);
    inverseNorms[row] = source.inverseNorms[from]!;
    if (row % stepRows === 0) yield;
  }
  out.add(`${prefix}.data`, data);
  out.add(`${prefix}.docs`, docs.view());
  out.add(`${prefix}.inverseNorms`, inverseNorms);
}

function* writeSparse(
  prefix: string,
  name: string,
  readers: readonly IndexReader[],
  maps: DocMaps,
  out: SectionWriter,
): Steps<void> {
  const sources = readers.map((reader) => reader.sparse(name));
  const wanted = new Set<number>();
  for (const source of sources) for (const index of source?.indices ?? []) wanted.add(index);
  const indices = new U32List();
  const ends = new U32List();
  const docs = new U32List();
  const weights = new F32List();
  ends.push(0);
  const weightOf = new Map<number, number>();
  for (const index of Uint32Array.from(wanted).sort()) {
    weightOf.clear();
    sources.forEach((source, r) => {
      const list = source?.list(index);
      if (list === undefined) return;
      for (let i = list.from; i < list.to; i++) {
        const doc = maps.newDocs[r]![list.docs[i]!]!;
        if (doc !== unmapped) weightOf.set(doc, list.weights[i]!);
      }
    });
    if (weightOf.size === 0) continue;
    indices.push(index);
    for (const doc of Uint32Array.from(weightOf.keys()).sort()) {
      docs.push(doc);
      weights.push(weightOf.get(doc)!);
    }
    ends.push(docs.length);
    if (indices.length % 64 === 0) yield;
  }
  out.add(`${prefix}.indices`, indices.view());
  out.add(`${prefix}.ends`, ends.view());
  out.add(`${prefix}.docs`, docs.view());
  out.add(`${prefix}.weights`, weights.view());
}
