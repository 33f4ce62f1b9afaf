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
  /** By field, where it was measured: candidates that its graph gathers for ten hits, and the recall with them. */
  readonly graphs?: Readonly<Record<string, { readonly ef: number; readonly recall: number }>>;
}

/** An outcome as it crosses from thread to thread. */
export type PackedOutcome = QueryOutcome | Float64Array;

const noTimes: StageTimes = { statistics: 0, filters: 0, retrievers: [], ranking: 0, facets: 0, explain: 0 };

/**
 * The outcome of most queries is hits alone, which as numbers in one array cross in a fraction of the time: how many
 * retrievers · what each returned · candidates · id, version and score of each hit. The times are left behind; only
 * `explain` shows them.
 */
export function packOutcome(outcome: QueryOutcome): PackedOutcome {
  const { hits, groups, facets, stats } = outcome;
  if (groups !== undefined || facets.length > 0 || stats.parts !== undefined) return outcome;
  const { retrieved, candidates } = stats;
  const packed = new Float64Array(retrieved.length + 2 + 3 * hits.length);
  packed[0] = retrieved.length;
  packed.set(retrieved, 1);
  let at = retrieved.length + 1;
  packed[at++] = candidates;
  for (const { id, version, score } of hits) {
    packed[at++] = id;
    packed[at++] = version;
    packed[at++] = score;
  }
  return packed;
}

export function unpackOutcome(packed: PackedOutcome): QueryOutcome {
  if (!(packed instanceof Float64Array)) return packed;
  const hitsAt = packed[0]! + 2;
  const hits: RankedHit[] = [];
  for (let at = hitsAt; at < packed.length; at += 3) {
    hits.push({ id: packed[at]!, version: packed[at + 1]!, score: packed[at + 2]! });
  }
  const retrieved = Array.from(packed.subarray(1, hitsAt - 1));
  return { hits, facets: [], stats: { retrieved, candidates: packed[hitsAt - 1]!, timesMs: noTimes } };
}
