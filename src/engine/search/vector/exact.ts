import type { Bitset } from "../index/bitset.ts";
import type { IndexReader, VectorRows } from "../index/reader.ts";
import { type Hit, TopK } from "../index/top-k.ts";
import { runSteps, type Steps, stepDocs } from "../steps.ts";
import { dotAt, inverseNorm, squaredDistanceAt } from "./distance.ts";

/** Below this share of allowed documents, the allowed ones are looked up instead of walking all rows. */
const allowedShare = 1 / 8;

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

/** Offers the rows from `from` to below `to`: the hot loop, apart from the steps around it. */
function offerRows(
  reader: IndexReader,
  r: number,
  rows: VectorRows,
  query: Float32Array,
  norm: number,
  allowed: Bitset | undefined,
  from: number,
  to: number,
  top: TopK,
): void {
  const { docs } = rows;
  const { ids } = reader;
  for (let row = from; row < to; row++) {
    const doc = docs[row]!;
    if (allowed !== undefined && !allowed.has(doc)) continue;
    const score = rowScore(rows, query, norm, row);
    if (score >= top.threshold) top.offer(score, ids[doc]!, r, doc);
  }
}

function* searchRows(
  reader: IndexReader,
  r: number,
  rows: VectorRows,
  query: Float32Array,
  norm: number,
  allowed: Bitset | undefined,
  top: TopK,
): Steps<void> {
  // Taken once: a tail may grow between two steps, and what is added then is not part of this search.
  const { rowCount } = rows;
  const { ids } = reader;
  if (allowed !== undefined && allowed.count() < rowCount * allowedShare) {
    let visited = 0;
    for (let doc = allowed.next(0); doc !== -1; doc = allowed.next(doc + 1)) {
      const row = rows.rowOf(doc);
      if (row !== -1) top.offer(rowScore(rows, query, norm, row), ids[doc]!, r, doc);
      if (++visited % stepDocs === 0) yield;
    }
    return;
  }
  for (let from = 0; from < rowCount; from += stepDocs) {
    if (from > 0) yield;
    offerRows(reader, r, rows, query, norm, allowed, from, Math.min(from + stepDocs, rowCount), top);
  }
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

export function* searchVectorsSteps(
  readers: readonly IndexReader[],
  field: string,
  query: Float32Array,
  k: number,
  filters?: readonly (Bitset | undefined)[],
): Steps<Hit[]> {
  const top = new TopK(k);
  const norm = inverseNorm(query);
  for (const [r, reader] of readers.entries()) {
    const rows = reader.vectors(field);
    if (rows === undefined) continue;
    yield* searchRows(reader, r, rows, query, norm, filters?.[r] ?? reader.live, top);
    yield;
  }
  return top.hits();
}
