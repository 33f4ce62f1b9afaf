import type { Bitset } from "../search/index/bitset.ts";
import type { IndexReader } from "../search/index/reader.ts";
import { compareHits, type Hit } from "../search/index/top-k.ts";
import { type TextStatistics, textStatistics } from "../search/text/bm25.ts";
import { searchTextSteps } from "../search/text/search.ts";
import { searchVectorsSteps } from "../search/vector/exact.ts";
import { searchSparseSteps } from "../search/vector/sparse.ts";
import type { Steps } from "../turns.ts";
import type { Retriever, VectorRetriever } from "./plan.ts";

export interface VectorSearchOptions {
  /** By reader: the documents that may be found, or undefined for all live ones. */
  readonly filters?: readonly (Bitset | undefined)[];
  readonly ef?: number;
  readonly exact?: boolean;
  /** What scores less is of no use. */
  readonly floor?: number;
}

/** The k nearest documents by the parts' graphs, best first; `graphs[i]` belongs to `readers[i]`. */
export type VectorSearch<G = unknown> = (
  readers: readonly IndexReader[],
  graphs: readonly (G | undefined)[],
  field: string,
  query: Float32Array,
  k: number,
  options: VectorSearchOptions,
) => Hit[];

interface Graphs<G> {
  readonly graphs?: readonly (G | undefined)[];
  readonly vectorSearch?: VectorSearch<G>;
}

/** The k best documents of one retriever, of those that are allowed. */
export function* retrieve<G>(
  retriever: Retriever,
  readers: readonly IndexReader[],
  allowed: readonly Bitset[] | undefined,
  statistics: TextStatistics | undefined,
  graphs: Graphs<G>,
): Steps<Hit[]> {
  const { field, k } = retriever;
  switch (retriever.kind) {
    case "vector":
      return yield* searchVector(retriever, readers, allowed, graphs);
    case "text": {
      const { query } = retriever;
      return yield* searchTextSteps(readers, query, k, allowed, statistics ?? textStatistics(readers, query));
    }
    case "sparse":
      return yield* searchSparseSteps(readers, field, retriever.query, k, allowed);
  }
}

/** Graphs part by part with a pause after each; what has none is compared vector by vector, with pauses within. */
function* searchVector<G>(
  retriever: VectorRetriever,
  readers: readonly IndexReader[],
  allowed: readonly Bitset[] | undefined,
  { graphs, vectorSearch }: Graphs<G>,
): Steps<Hit[]> {
  const { field, query, k, ef, exact } = retriever;
  if (exact || graphs === undefined || vectorSearch === undefined) {
    return yield* searchVectorsSteps(readers, field, query, k, allowed);
  }
  let found: Hit[] = [];
  for (const [r, reader] of readers.entries()) {
    const graph = graphs[r];
    const filters = allowed === undefined ? undefined : [allowed[r]];
    // What the parts before have found is to be beaten: that rules out most of a tail unread.
    const floor = found[k - 1]?.score ?? Number.NEGATIVE_INFINITY;
    let hits: Hit[];
    if (graph === undefined) hits = yield* searchVectorsSteps([reader], field, query, k, filters, floor);
    else {
      const options = { floor, ...(filters === undefined ? {} : { filters }), ...(ef === undefined ? {} : { ef }) };
      hits = vectorSearch([reader], [graph], field, query, k, options);
      yield;
    }
    for (const { id, score, doc } of hits) found.push({ id, score, reader: r, doc });
    found = found.sort(compareHits).slice(0, k);
  }
  return found;
}
