import { runSteps, type Steps } from "../../turns.ts";
import type { SparseVector } from "../document.ts";
import { Bitset } from "../index/bitset.ts";
import type { IndexReader } from "../index/reader.ts";
import { type Hit, TopK } from "../index/top-k.ts";
import { stepDocs } from "../limits.ts";

/**
 * The k documents with the highest inner product, of those that share an index with the query. The query's indices are
 * taken in ascending order everywhere, so that the sums do not depend on where a document is stored.
 */
export function searchSparse(
  readers: readonly IndexReader[],
  field: string,
  query: SparseVector,
  k: number,
  filters?: readonly (Bitset | undefined)[],
): Hit[] {
  return runSteps(searchSparseSteps(readers, field, query, k, filters));
}

export function* searchSparseSteps(
  readers: readonly IndexReader[],
  field: string,
  query: SparseVector,
  k: number,
  filters?: readonly (Bitset | undefined)[],
): Steps<Hit[]> {
  const top = new TopK(k);
  for (const [r, reader] of readers.entries()) {
    const index = reader.sparse(field);
    if (index === undefined) continue;
    let visited = 0;
    const scores = new Float64Array(reader.docCount);
    const touched = new Bitset(reader.docCount);
    for (let q = 0; q < query.indices.length; q++) {
      const list = index.list(query.indices[q]!);
      if (list === undefined) continue;
      const { docs, weights, from, to } = list;
      const weight = query.values[q]!;
      for (let i = from; i < to; i++) {
        const doc = docs[i]!;
        scores[doc]! += weight * weights[i]!;
        touched.add(doc);
      }
      visited += to - from;
      if (visited < stepDocs) continue;
      visited = 0;
      yield;
    }
    const allowed = filters?.[r] ?? reader.live;
    if (allowed !== undefined) touched.and(allowed);
    const { ids } = reader;
    for (let doc = touched.next(0); doc !== -1; doc = touched.next(doc + 1)) {
      const score = scores[doc]!;
      if (score >= top.threshold) top.offer(score, ids[doc]!, r, doc);
    }
    yield;
  }
  return top.hits();
}
