import { type FieldSpec, isNumeric, type Schema, type VectorSpec } from "../../schema/schema.ts";
import { readSchema } from "../../schema/schema-parse.ts";
import { Bitset } from "./bitset.ts";
import { Deletes } from "./deletes.ts";
import { FilterCache } from "./filter-cache.ts";
import {
  type IndexReader,
  inNumberRange,
  type NumberColumn,
  type NumberIndex,
  type NumberRange,
  type OrdinalColumn,
  type SortedNumbers,
  type SparseIndex,
  type SparseList,
  type StringIndex,
  type TextIndex,
  type VectorRows,
} from "./reader.ts";
import { SectionReader } from "./segment-format.ts";
import { SegmentTerms } from "./segment-terms.ts";
import { SegmentText, StoredText } from "./segment-text.ts";
import { lowerBound } from "./segment-writer.ts";

class SegmentStrings extends SegmentTerms implements StringIndex {
  readonly column: OrdinalColumn;
  readonly #postingStarts: Uint32Array | undefined;
  readonly #postingDocs: Uint32Array | undefined;

  constructor(sections: SectionReader, prefix: string) {
    super(sections, prefix);
    this.column = { starts: sections.u32(`${prefix}.starts`), values: sections.u32(`${prefix}.values`) };
    if (!sections.has(`${prefix}.postingDocs`)) return;
    this.#postingStarts = sections.u32(`${prefix}.postingStarts`);
    this.#postingDocs = sections.u32(`${prefix}.postingDocs`);
  }

  addDocs(ordinals: readonly number[], into: Bitset): void {
    if (this.#postingStarts === undefined || this.#postingDocs === undefined) {
      this.#scan(ordinals, into);
      return;
    }
    for (const ordinal of ordinals) {
      const to = this.#postingStarts[ordinal + 1]!;
      for (let i = this.#postingStarts[ordinal]!; i < to; i++) into.add(this.#postingDocs[i]!);
    }
  }

  #scan(ordinals: readonly number[], into: Bitset): void {
    const wanted = new Uint8Array(this.termCount);
    for (const ordinal of ordinals) wanted[ordinal] = 1;
    const { starts, values } = this.column;
    for (let doc = 0; doc < starts.length - 1; doc++) {
      for (let i = starts[doc]!; i < starts[doc + 1]!; i++) if (wanted[values[i]!] === 1) into.add(doc);
    }
  }
}

class SegmentNumbers implements NumberIndex {
  readonly column: NumberColumn;
  readonly sorted: SortedNumbers | undefined;

  constructor(sections: SectionReader, prefix: string) {
    this.column = { starts: sections.u32(`${prefix}.starts`), values: sections.f64(`${prefix}.values`) };
    if (!sections.has(`${prefix}.sortedValues`)) return;
    this.sorted = {
      values: sections.f64(`${prefix}.sortedValues`),
      starts: sections.u32(`${prefix}.sortedStarts`),
      docs: sections.u32(`${prefix}.sortedDocs`),
    };
  }

  addRange(range: NumberRange, into: Bitset): void {
    if (this.sorted === undefined) {
      const { starts, values } = this.column;
      for (let doc = 0; doc < starts.length - 1; doc++) {
        for (let i = starts[doc]!; i < starts[doc + 1]!; i++) if (inNumberRange(values[i]!, range)) into.add(doc);
      }
      return;
    }
    const { values, starts, docs } = this.sorted;
    let from = 0;
    let to = values.length;
    if (range.gte !== undefined) from = Math.max(from, lowerBound(values, range.gte));
    if (range.gt !== undefined) from = Math.max(from, this.#after(values, range.gt));
    if (range.lt !== undefined) to = Math.min(to, lowerBound(values, range.lt));
    if (range.lte !== undefined) to = Math.min(to, this.#after(values, range.lte));
    if (from >= to) return;
    for (let i = starts[from]!; i < starts[to]!; i++) into.add(docs[i]!);
  }

  #after(values: Float64Array, value: number): number {
    const at = lowerBound(values, value);
    return values[at] === value ? at + 1 : at;
  }
}

class SegmentVectors implements VectorRows {
  readonly dim: number;
  readonly distance: VectorSpec["distance"];
  readonly rowCount: number;
  readonly data: Float32Array;
  readonly docs: Uint32Array;
  readonly inverseNorms: Float64Array;
  readonly #everyDoc: boolean;
  #inverseNormMax: number | undefined;

  constructor(sections: SectionReader, prefix: string, spec: VectorSpec, docCount: number) {
    this.dim = spec.dim;
    this.distance = spec.distance;
    this.data = sections.f32(`${prefix}.data`);
    this.docs = sections.u32(`${prefix}.docs`);
    this.inverseNorms = sections.f64(`${prefix}.inverseNorms`);
    this.rowCount = this.docs.length;
    this.#everyDoc = this.rowCount === docCount;
  }

  get inverseNormMax(): number {
    if (this.#inverseNormMax !== undefined) return this.#inverseNormMax;
    let most = 0;
    for (const inverse of this.inverseNorms) most = Math.max(most, inverse);
    this.#inverseNormMax = most;
    return most;
  }

  rowOf(doc: number): number {
    if (this.#everyDoc) return doc;
    let low = 0;
    let high = this.rowCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.docs[middle]! < doc) low = middle + 1;
      else high = middle;
    }
    return this.docs[low] === doc ? low : -1;
  }
}

class SegmentSparse implements SparseIndex {
  readonly indices: Uint32Array;
  readonly #ends: Uint32Array;
  readonly #docs: Uint32Array;
  readonly #weights: Float32Array;

  constructor(sections: SectionReader, prefix: string) {
    this.indices = sections.u32(`${prefix}.indices`);
    this.#ends = sections.u32(`${prefix}.ends`);
    this.#docs = sections.u32(`${prefix}.docs`);
    this.#weights = sections.f32(`${prefix}.weights`);
  }

  list(index: number): SparseList | undefined {
    let low = 0;
    let high = this.indices.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.indices[middle]! < index) low = middle + 1;
      else high = middle;
    }
    if (this.indices[low] !== index) return undefined;
    return { docs: this.#docs, weights: this.#weights, from: this.#ends[low]!, to: this.#ends[low + 1]! };
  }
}

interface SegmentField {
  readonly text: StoredText | undefined;
  readonly strings: SegmentStrings | undefined;
  readonly numbers: SegmentNumbers | undefined;
  readonly present: Bitset;
  readonly presentCount: number;
}

/** An immutable part of the index, opened from its blob. Fields are opened when first asked for. */
export class Segment {
  readonly schema: Schema;
  readonly docCount: number;
  readonly ids: Float64Array;
  readonly versions: Float64Array;
  readonly filterCache = new FilterCache();
  readonly #sections: SectionReader;
  readonly #fields = new Map<string, SegmentField>();
  readonly #vectors = new Map<string, SegmentVectors>();
  readonly #sparse = new Map<string, SegmentSparse>();

  constructor(bytes: Uint8Array) {
    this.#sections = new SectionReader(bytes);
    const meta = this.#sections.meta as { schema: unknown; docCount: number };
    this.schema = readSchema(meta.schema);
    this.docCount = meta.docCount;
    this.ids = this.#sections.f64("ids");
    this.versions = this.#sections.f64("versions");
  }

  get bytes(): number {
    return this.#sections.byteLength;
  }

  /** Reads the whole blob and throws `internal` when a byte of it is damaged. */
  verify(): void {
    this.#sections.verify();
  }

  /** The number of a document, deleted or not, or -1. */
  docOf(id: number): number {
    const at = lowerBound(this.ids, id);
    return this.ids[at] === id ? at : -1;
  }

  field(name: string): SegmentField | undefined {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const at = this.schema.fields.findIndex((field) => field.name === name);
    const spec = this.schema.fields[at];
    if (spec === undefined || (!spec.indexed && !spec.fast)) return undefined;
    const opened = this.#open(`f${at}`, spec);
    this.#fields.set(name, opened);
    return opened;
  }

  #open(prefix: string, spec: FieldSpec): SegmentField {
    const sections = this.#sections;
    const { kind } = spec.kind;
    const present = new Bitset(this.docCount, sections.u32(`${prefix}.present`));
    return {
      text: kind === "text" && spec.indexed ? new StoredText(sections, `${prefix}.text`) : undefined,
      strings:
        kind === "keyword" || (kind === "text" && spec.fast)
          ? new SegmentStrings(sections, `${prefix}.strings`)
          : undefined,
      numbers: isNumeric(spec.kind) ? new SegmentNumbers(sections, `${prefix}.numbers`) : undefined,
      present,
      presentCount: present.count(),
    };
  }

  vectors(name: string): VectorRows | undefined {
    const at = this.schema.vectors.findIndex((spec) => spec.name === name);
    const spec = this.schema.vectors[at];
    if (spec === undefined) return undefined;
    let vectors = this.#vectors.get(name);
    vectors ??= new SegmentVectors(this.#sections, `v${at}`, spec, this.docCount);
    this.#vectors.set(name, vectors);
    return vectors;
  }

  sparse(name: string): SparseIndex | undefined {
    const at = this.schema.sparseVectors.findIndex((spec) => spec.name === name);
    if (at === -1) return undefined;
    let sparse = this.#sparse.get(name);
    sparse ??= new SegmentSparse(this.#sections, `s${at}`);
    this.#sparse.set(name, sparse);
    return sparse;
  }
}

export function openSegment(bytes: Uint8Array): Segment {
  return new Segment(bytes);
}

/** A segment without its deleted documents. Keep it as long as the deletes: it remembers counts per term. */
export class SegmentReader implements IndexReader {
  readonly segment: Segment;
  readonly deletes: Deletes;
  readonly idsAscending = true;
  readonly #texts = new Map<string, SegmentText>();

  constructor(segment: Segment, deletes = new Deletes(segment.docCount)) {
    this.segment = segment;
    this.deletes = deletes;
  }

  get schema(): Schema {
    return this.segment.schema;
  }

  get docCount(): number {
    return this.segment.docCount;
  }

  get liveCount(): number {
    return this.segment.docCount - this.deletes.count;
  }

  get filterCache(): FilterCache {
    return this.segment.filterCache;
  }

  get live(): Bitset | undefined {
    return this.deletes.count === 0 ? undefined : this.deletes.live;
  }

  get ids(): Float64Array {
    return this.segment.ids;
  }

  get versions(): Float64Array {
    return this.segment.versions;
  }

  find(id: number): number {
    const doc = this.segment.docOf(id);
    return doc === -1 || this.deletes.has(doc) ? -1 : doc;
  }

  /** Deletes the document of this id; false when it is not here or deleted before. */
  delete(id: number): boolean {
    const doc = this.segment.docOf(id);
    return doc !== -1 && this.deletes.add(doc);
  }

  text(field: string): TextIndex | undefined {
    const known = this.#texts.get(field);
    if (known !== undefined) return known;
    const opened = this.segment.field(field);
    if (opened?.text === undefined) return undefined;
    const { present, presentCount } = opened;
    const text = new SegmentText(opened.text, this.deletes, presentCount, (doc) => present.has(doc));
    this.#texts.set(field, text);
    return text;
  }

  strings(field: string): StringIndex | undefined {
    return this.segment.field(field)?.strings;
  }

  numbers(field: string): NumberIndex | undefined {
    return this.segment.field(field)?.numbers;
  }

  present(field: string): Bitset | undefined {
    return this.segment.field(field)?.present;
  }

  vectors(name: string): VectorRows | undefined {
    return this.segment.vectors(name);
  }

  sparse(name: string): SparseIndex | undefined {
    return this.segment.sparse(name);
  }
}
