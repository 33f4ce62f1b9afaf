import type { Distance } from "../../schema/schema.ts";
import { runSteps, type Steps } from "../../turns.ts";
import type { Bitset } from "../index/bitset.ts";
import type { IndexReader, VectorRows } from "../index/reader.ts";
import { type Hit, TopK } from "../index/top-k.ts";
import { stepDocs } from "../limits.ts";
import { dotAt, inverseNorm, squaredDistanceAt } from "./distance.ts";
import { dotKernel, siftRowsMax } from "./dot-kernel.ts";
import { productNeeded, type SketchQuery, sketchQuery } from "./sketch.ts";

/** Below this share of allowed documents, the allowed ones are looked up instead of walking all rows. */
const allowedShare = 1 / 3;

/** Rows that are walked in the time of one that is looked up (0.07 µs to 0.2 µs at 128 numbers). */
const walkedPerLookUp = 3;

/** The score of one row: cosine, dot, or 1 / (1 + d²). A graph index scores its candidates with it too. */
export function rowScore(rows: VectorRows, query: Float32Array, queryInverseNorm: number, row: number): number {
  const offset = row * rows.dim;
  switch (rows.distance) {
    case "cosine":
      return dotAt(query, rows.data, offset, rows.dim) * queryInverseNorm * rows.inverseNorms[row]!;
    case "dot":
      return dotAt(query, rows.data, offset, rows.dim);
    case "l2":
      return 1 / (1 + squaredDistanceAt(query, rows.data, offset, rows.dim));
  }
}

/** One part of a search, and what its scores and their bounds are made of. */
interface RowSearch {
  readonly reader: number;
  readonly ids: Float64Array;
  readonly rows: VectorRows;
  readonly query: Float32Array;
  /** The query's length, and 1 / length. */
  readonly length: number;
  readonly inverseNorm: number;
  /** Roundings that a product in single precision can have gone through. */
  readonly slack: number;
  readonly allowed: Bitset | undefined;
}

function rowSearch(
  reader: IndexReader,
  r: number,
  rows: VectorRows,
  query: Float32Array,
  allowed: Bitset | undefined,
): RowSearch {
  const length = Math.sqrt(dotAt(query, query, 0, query.length));
  const slack = rows.dim + 8;
  return { reader: r, ids: reader.ids, rows, query, length, inverseNorm: inverseNorm(query), slack, allowed };
}

/** Single precision rounds each product and sum by 2^-24 of itself; what underflows loses at most this. */
const roundingShare = 2 ** -23;
const underflowMax = 2e-45;

/**
 * What a row can score at most, given its inner product in single precision. NaN when that overflowed: such a row is
 * not ruled out by any comparison.
 */
function scoreBound(search: RowSearch, distance: Distance, inverse: number, product: number): number {
  if (!Number.isFinite(product)) return Number.NaN;
  const { slack } = search;
  // The lengths cancel out, which spares the division that the others need.
  if (distance === "cosine") {
    return (product + slack * underflowMax) * search.inverseNorm * inverse + slack * roundingShare;
  }
  const length = inverse === 0 ? 0 : 1 / inverse;
  const most = product + slack * (roundingShare * search.length * length + underflowMax);
  if (distance === "dot") return most;
  const squared = search.length * search.length + length * length;
  return 1 / (1 + Math.max(0, squared * (1 - 1e-12) - 2 * most));
}

/** Rules out by SIMD what cannot be among the best, and scores the rest exactly: the rows from `from` to below `to`. */
function offerRows(search: RowSearch, from: number, to: number, top: TopK): void {
  const { rows, ids, query, allowed } = search;
  const { data, docs, inverseNorms, distance } = rows;
  const kernel = dotKernel(data);
  // Set for every step: another search may have used the kernel since the last one.
  kernel.setQuery(query);
  for (let first = from; first < to; first += kernel.rowsMax) {
    const count = Math.min(kernel.rowsMax, to - first);
    const products = kernel.products(data, first, count);
    for (let i = 0; i < count; i++) {
      const row = first + i;
      if (scoreBound(search, distance, inverseNorms[row]!, products[i]!) < top.threshold) continue;
      const doc = docs[row]!;
      if (allowed !== undefined && !allowed.has(doc)) continue;
      const score = rowScore(rows, query, search.inverseNorm, row);
      if (score >= top.threshold) top.offer(score, ids[doc]!, search.reader, doc);
    }
  }
}

/** Rows that are looked up together. */
const listedMax = siftRowsMax;
/** One for the thread: nothing is left in it from step to step. */
const listed = new Uint32Array(listedMax);

/** Offers the rows that a list begins with; where SIMD can read them in place, it rules out most of them first. */
function offerListed(search: RowSearch, list: Uint32Array, count: number, top: TopK): void {
  const { rows, ids, query } = search;
  const { data, docs, inverseNorms, distance } = rows;
  const kernel = dotKernel(data);
  kernel.setQuery(query);
  const products = kernel.productsOf(data, list, count);
  let threshold = top.threshold;
  let least = leastProduct(search, threshold);
  for (let i = 0; i < count; i++) {
    // Most end here, without a look at their length, which no cache has.
    if (products !== undefined && products[i]! < least && products[i]! >= -productMax) continue;
    const row = list[i]!;
    if (products !== undefined) {
      if (scoreBound(search, distance, inverseNorms[row]!, products[i]!) < threshold) continue;
    }
    const doc = docs[row]!;
    top.offer(rowScore(rows, query, search.inverseNorm, row), ids[doc]!, search.reader, doc);
    if (top.threshold === threshold) continue;
    threshold = top.threshold;
    least = leastProduct(search, threshold);
  }
}

/** The largest number of single precision: what is beyond has overflowed. */
const productMax = 3.4028234663852886e38;

/** A product below this rules a row out, whatever its length; see `scoreBound`. */
function leastProduct({ rows, inverseNorm, slack }: RowSearch, threshold: number): number {
  const { distance, inverseNormMax = Number.POSITIVE_INFINITY } = rows;
  const needed = threshold - slack * roundingShare;
  if (distance !== "cosine" || !(needed > 0)) return Number.NEGATIVE_INFINITY;
  return (needed / (inverseNorm * inverseNormMax)) * (1 - 1e-12) - slack * underflowMax;
}

/** Offers rows that a graph found. */
export function offerFound(
  reader: IndexReader,
  r: number,
  rows: VectorRows,
  query: Float32Array,
  found: Uint32Array,
  top: TopK,
): void {
  const search = rowSearch(reader, r, rows, query, undefined);
  for (let from = 0; from < found.length; from += listedMax) {
    const list = found.subarray(from, from + listedMax);
    offerListed(search, list, list.length, top);
  }
}

/** Looks the allowed rows up. */
function* searchAllowed(search: RowSearch, allowed: Bitset, top: TopK): Steps<void> {
  const { rows } = search;
  let visited = 0;
  let count = 0;
  // As few as fill the top k come first: what they score rules out most of the others.
  let room = Math.min(listedMax, Math.max(64, top.k));
  for (let doc = allowed.next(0); doc !== -1; doc = allowed.next(doc + 1)) {
    const row = rows.rowOf(doc);
    if (row !== -1) listed[count++] = row;
    const pause = ++visited % stepDocs === 0;
    if (count === room || pause) {
      offerListed(search, listed, count, top);
      count = 0;
      room = listedMax;
    }
    if (pause) yield;
  }
  offerListed(search, listed, count, top);
}

/** Looks up the rows that the sketch leaves; false where there is none to go by. */
function offerSifted(search: RowSearch, sifting: SketchQuery, from: number, to: number, top: TopK): boolean {
  const { rows, allowed } = search;
  const { data, docs, distance, sketch } = rows;
  const kernel = dotKernel(data);
  let count = siftRowsMax;
  for (let first = from; first < to; first += count) {
    // As few as fill the top k come first: what they score rules out most of the others.
    const most = top.threshold === Number.NEGATIVE_INFINITY ? Math.max(64, 2 * top.k) : siftRowsMax;
    count = Math.min(most, siftRowsMax, to - first);
    const needed = productNeeded(top.threshold, distance, search.length);
    const found = sketch === undefined ? undefined : kernel.sift(sketch, sifting, needed, first, count, listed);
    if (found === undefined) return false;
    let allowedCount = 0;
    for (let i = 0; i < found; i++) {
      const row = listed[i]!;
      if (allowed === undefined || allowed.has(docs[row]!)) listed[allowedCount++] = row;
    }
    offerListed(search, listed, allowedCount, top);
  }
  return true;
}

function* searchRows(search: RowSearch, top: TopK): Steps<void> {
  // Taken once: a tail may grow between two steps, and what is added then is not part of this search.
  const { rowCount, sketch, distance } = search.rows;
  const sifting = sketch === undefined ? undefined : sketchQuery(search.query, distance);
  for (let from = 0; from < rowCount; from += stepDocs) {
    if (from > 0) yield;
    const to = Math.min(from + stepDocs, rowCount);
    if (sifting === undefined || !offerSifted(search, sifting, from, to, top)) offerRows(search, from, to, top);
  }
}

/** What comparing all costs when this many rows of a part are allowed, in rows that are looked up. */
export function exactCost(rowCount: number, allowedCount: number): number {
  return allowedCount < rowCount * allowedShare ? allowedCount : rowCount / walkedPerLookUp;
}

/** Compares the query with every allowed row of one part. */
export function* searchPartSteps(
  reader: IndexReader,
  r: number,
  rows: VectorRows,
  query: Float32Array,
  allowed: Bitset | undefined,
  top: TopK,
): Steps<void> {
  const search = rowSearch(reader, r, rows, query, allowed);
  if (allowed !== undefined && allowed.count() < rows.rowCount * allowedShare) {
    yield* searchAllowed(search, allowed, top);
  } else yield* searchRows(search, top);
}

/**
 * The k nearest documents, by comparing the query with every vector. `filters[i]` restricts part i; without it all live
 * documents may be found.
 */
export function searchVectors(
  readers: readonly IndexReader[],
  field: string,
  query: Float32Array,
  k: number,
  filters?: readonly (Bitset | undefined)[],
): Hit[] {
  return runSteps(searchVectorsSteps(readers, field, query, k, filters));
}

/** The same with pauses. What scores below `floor` is of no use to the caller. */
export function* searchVectorsSteps(
  readers: readonly IndexReader[],
  field: string,
  query: Float32Array,
  k: number,
  filters?: readonly (Bitset | undefined)[],
  floor?: number,
): Steps<Hit[]> {
  const top = new TopK(k, floor);
  for (const [r, reader] of readers.entries()) {
    const rows = reader.vectors(field);
    if (rows === undefined) continue;
    yield* searchPartSteps(reader, r, rows, query, filters?.[r] ?? reader.live, top);
    yield;
  }
  return top.hits();
}
