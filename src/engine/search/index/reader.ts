import type { Distance, Schema } from "../../schema/schema.ts";
import type { RowSketch } from "../vector/sketch.ts";
import type { Bitset } from "./bitset.ts";
import type { FilterCache } from "./filter-cache.ts";
import type { PostingsCursor, PostingsSink } from "./postings.ts";

/**
 * One part of a collection's index: the memory tail or a sealed segment with its deleted documents. Documents have
 * numbers from 0 to docCount - 1 of their own in each part; dead ones keep theirs.
 */
export interface IndexReader {
  readonly schema: Schema;
  readonly docCount: number;
  readonly liveCount: number;
  /** The live documents, or undefined when all are. */
  readonly live: Bitset | undefined;
  /** External id and version by document number. */
  readonly ids: Float64Array;
  readonly versions: Float64Array;
  /** Whether document numbers follow the external ids, as they do in a segment. */
  readonly idsAscending: boolean;
  /** What filters match here, where that does not change. */
  readonly filterCache?: FilterCache | undefined;
  /** The number of the live document with this external id, or -1. */
  find(id: number): number;
  /** Undefined for a field that this part does not hold, or that has no such access. */
  text(field: string): TextIndex | undefined;
  strings(field: string): StringIndex | undefined;
  numbers(field: string): NumberIndex | undefined;
  /** Documents, dead ones too, that have a value in the field. */
  present(field: string): Bitset | undefined;
  vectors(name: string): VectorRows | undefined;
  sparse(name: string): SparseIndex | undefined;
}

/** The distinct terms of a field. Ordinals have no meaning beyond their reader; in a segment they follow the order of the terms. */
export interface TermDictionary {
  readonly termCount: number;
  /** The term's ordinal, or -1. */
  ordinal(term: string): number;
  term(ordinal: number): string;
  ordinalsWithPrefix(prefix: string): number[];
  ordinalsInRange(range: TermRange): number[];
  /** All ordinals in the order of their terms. */
  sortedOrdinals(): Uint32Array;
}

export interface TermRange {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt?: string;
  readonly lte?: string;
}

export interface TextIndex extends TermDictionary {
  /** Words by document number. */
  readonly lengths: Uint32Array;
  readonly hasPositions: boolean;
  /** Live documents with a value, and their words altogether. */
  readonly liveDocs: number;
  readonly liveLength: number;
  /** Live documents that hold the term. Exact: deleted documents are counted out. */
  liveFrequency(ordinal: number): number;
  cursor(ordinal: number): PostingsCursor;
  /** Appends all postings of a term, dead documents included. */
  drain(ordinal: number, sink: PostingsSink): void;
}

/** A column in compressed rows: document d has the entries from starts[d] to starts[d + 1]. */
export interface OrdinalColumn {
  readonly starts: Uint32Array;
  readonly values: Uint32Array;
}

export interface NumberColumn {
  readonly starts: Uint32Array;
  readonly values: Float64Array;
}

/** Whole strings: keyword fields, and text fields that are fast. Entries of a document are distinct. */
export interface StringIndex extends TermDictionary {
  readonly column: OrdinalColumn;
  /** Adds the documents, dead ones too, that have any of the terms. */
  addDocs(ordinals: readonly number[], into: Bitset): void;
}

/** The distinct values ascending; value i has the documents from starts[i] to starts[i + 1], ascending. */
export interface SortedNumbers {
  readonly values: Float64Array;
  readonly starts: Uint32Array;
  readonly docs: Uint32Array;
}

export interface NumberIndex {
  readonly column: NumberColumn;
  /** Only where a segment keeps it. */
  readonly sorted?: SortedNumbers | undefined;
  /** Adds the documents, dead ones too, with a value in the range. */
  addRange(range: NumberRange, into: Bitset): void;
}

export interface NumberRange {
  readonly gt?: number;
  readonly gte?: number;
  readonly lt?: number;
  readonly lte?: number;
}

/** The vectors of one field, a row for each document that has one, in the order of the document numbers. */
export interface VectorRows {
  readonly dim: number;
  readonly distance: Distance;
  readonly rowCount: number;
  readonly data: Float32Array;
  /** Document number by row. */
  readonly docs: Uint32Array;
  /** 1 / length by row, 0 for a zero vector. */
  readonly inverseNorms: Float64Array;
  /** The largest of these, where a part knows it. */
  readonly inverseNormMax?: number | undefined;
  /** Only where a part keeps one; it lies in one memory with the data. */
  readonly sketch?: RowSketch | undefined;
  /** The row of a document, or -1. */
  rowOf(doc: number): number;
}

export interface SparseList {
  readonly docs: ArrayLike<number>;
  readonly weights: ArrayLike<number>;
  readonly from: number;
  readonly to: number;
}

export interface SparseIndex {
  /** Ascending. */
  readonly indices: Uint32Array;
  list(index: number): SparseList | undefined;
}

/** Code point order, which is the order of the UTF-8 bytes that segments keep. */
export function compareTerms(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const surrogateX = x >= 0xd800 && x <= 0xdfff;
    const surrogateY = y >= 0xd800 && y <= 0xdfff;
    if (surrogateX !== surrogateY) return surrogateX ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}

export function inTermRange(term: string, range: TermRange): boolean {
  return (
    (range.gt === undefined || compareTerms(term, range.gt) > 0) &&
    (range.gte === undefined || compareTerms(term, range.gte) >= 0) &&
    (range.lt === undefined || compareTerms(term, range.lt) < 0) &&
    (range.lte === undefined || compareTerms(term, range.lte) <= 0)
  );
}

export function inNumberRange(value: number, range: NumberRange): boolean {
  return (
    (range.gt === undefined || value > range.gt) &&
    (range.gte === undefined || value >= range.gte) &&
    (range.lt === undefined || value < range.lt) &&
    (range.lte === undefined || value <= range.lte)
  );
}
