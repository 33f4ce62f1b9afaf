import type { FacetCount } from "../search/facets.ts";
import type { ClientValue } from "../search/values.ts";

/** What a search found: plain objects, so that it can be posted to another thread. */
export interface QueryOutcome {
  /** The page asked for, best first; empty when `groups` are there. */
  readonly hits: readonly RankedHit[];
  readonly groups?: readonly HitGroup[];
  /** In the order of the plan's facets. */
  readonly facets: readonly (readonly FacetCount[])[];
  readonly stats: SearchStats;
}

export interface RankedHit {
  readonly id: number;
  /** The version of the document that was found. */
  readonly version: number;
  /** 0 without a retriever. */
  readonly score: number;
  /** By retriever; only when the plan explains. */
  readonly sources?: readonly HitSource[];
}

/** What one retriever says of a hit. */
export interface HitSource {
  /** From 1; absent when the document is not among the retriever's k. */
  readonly rank?: number;
  readonly score?: number;
  /** Of a text retriever: the terms, and phrases in quotes, that the document holds. */
  readonly matched?: readonly string[];
}

export interface HitGroup {
  readonly key: ClientValue;
  readonly hits: readonly RankedHit[];
}

export interface SearchStats {
  /** Documents each retriever returned. */
  readonly retrieved: readonly number[];
  /** Distinct documents to choose the page from: what the retrievers returned, or all matches without one. */
  readonly candidates: number;
  readonly timesMs: StageTimes;
  /** Only when the plan explains. */
  readonly parts?: readonly PartStats[];
}

/** Time spent working in each stage, without the pauses between steps. */
export interface StageTimes {
  /** Pinning the parts and counting the terms over them. */
  readonly statistics: number;
  readonly filters: number;
  readonly retrievers: readonly number[];
  /** Fusion, sorting, groups and the page. */
  readonly ranking: number;
  readonly facets: number;
  readonly explain: number;
}

export interface PartStats {
  readonly kind: "segment" | "tail";
  readonly documents: number;
  readonly deleted: number;
  /** Whether a vector graph was there to search. */
  readonly graph: boolean;
}
