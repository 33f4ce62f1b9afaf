import type { FieldSpec } from "../schema/schema.ts";
import type { SparseVector } from "../search/document.ts";
import type { Filter } from "../search/filter/filter.ts";
import type { Fusion } from "../search/fuse.ts";
import type { SortKey } from "../search/sort.ts";
import type { TextClause, TextQuery } from "../search/text/query.ts";

/**
 * What the index has to find, checked against the collection's schema: REST, RPC and SQL all build it. Plain objects and
 * typed arrays throughout, so that it can be posted to another thread as it is; retrievers with the same filter share
 * one object (posting keeps that), which is how it is evaluated once.
 */
export interface SearchPlan {
  readonly collection: string;
  readonly retrievers: readonly Retriever[];
  /** Restricts every retriever before its top k. */
  readonly filter?: Filter;
  /** Absent: one retriever keeps its own score, several use RRF. */
  readonly fusion?: Fusion;
  readonly limit: number;
  readonly offset: number;
  /** Re-orders what was found; empty for the order of the scores, or of the ids without a retriever. */
  readonly sort: readonly SortKey[];
  readonly groupBy?: GroupBy;
  readonly facets: readonly Facet[];
  readonly minScore?: number;
  readonly consistency: Consistency;
  readonly explain: boolean;
}

/** A whole query: what to find, and what to show of the rows, for which the documents are needed. */
export interface QueryPlan extends SearchPlan {
  readonly projection: Projection;
  readonly highlight?: readonly HighlightField[];
}

/** The part to post to the thread that searches: a schema may have thousands of fields to show. */
export function searchPart(plan: QueryPlan): SearchPlan {
  const { projection: _, highlight: __, ...search } = plan;
  return search;
}

/** How much of a document the rows of a query need. */
export type Shown = "nothing" | "source" | "vectors";

export function shownOf({ projection: { fields, vectors, sparseVectors }, highlight }: QueryPlan): Shown {
  if (vectors.length > 0 || sparseVectors.length > 0) return "vectors";
  return fields.length > 0 || highlight !== undefined ? "source" : "nothing";
}

export const consistencies = ["strong", "eventual"] as const;
export type Consistency = (typeof consistencies)[number];

interface AnyRetriever {
  readonly field: string;
  /** At most this many hits. */
  readonly k: number;
  readonly weight: number;
  /** Beside the query's own filter. */
  readonly filter?: Filter;
}

export interface VectorRetriever extends AnyRetriever {
  readonly kind: "vector";
  readonly query: Float32Array;
  /** Compare with every vector instead of walking the graphs. */
  readonly exact: boolean;
  /** Candidates a graph search keeps; absent for the index's own choice. */
  readonly ef?: number;
}

export interface TextRetriever extends AnyRetriever {
  readonly kind: "text";
  /** As it was asked, up to the analysed length. */
  readonly text: string;
  readonly query: TextQuery;
}

export interface SparseRetriever extends AnyRetriever {
  readonly kind: "sparse";
  readonly query: SparseVector;
}

export type Retriever = VectorRetriever | TextRetriever | SparseRetriever;

export interface GroupBy {
  readonly field: FieldSpec;
  /** Rows per group. */
  readonly size: number;
}

export interface Facet {
  readonly field: FieldSpec;
  /** Values counted at most. */
  readonly limit: number;
}

/** Which stored values a row shows besides `_id` and `_score`, already resolved. */
export interface Projection {
  readonly fields: readonly FieldSpec[];
  readonly vectors: readonly string[];
  readonly sparseVectors: readonly string[];
}

export interface HighlightField {
  readonly field: FieldSpec;
  readonly analyzer: string;
  /** What the query looks for in this field. */
  readonly clauses: readonly TextClause[];
}

/** What a query looks by. */
export type QueryKind = "vector" | "text" | "sparse" | "hybrid" | "filter";

export function kindOf({ retrievers }: SearchPlan): QueryKind {
  const [first, ...others] = retrievers;
  if (first === undefined) return "filter";
  return others.every(({ kind }) => kind === first.kind) ? first.kind : "hybrid";
}
