import { compareHits, type Hit } from "./index/top-k.ts";

/** One retriever's answer, best first. */
export interface Ranking {
  readonly weight: number;
  readonly hits: readonly Hit[];
}

/** A hit after fusion, with its rank (from 1) and score in each retriever, or undefined where it was not found. */
export interface FusedHit extends Hit {
  /** Only where they were asked for. */
  readonly sources?: readonly HitPlace[];
}

type HitPlace = { readonly rank: number; readonly score: number } | undefined;

export type Fusion = { readonly method: "rrf"; readonly k: number } | { readonly method: "weighted" };

export const defaultFusion: Fusion = { method: "rrf", k: 60 };

/** A retriever's scores brought to 0 … 1; where all are equal, each is 1. */
function normalized(hits: readonly Hit[]): (score: number) => number {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const { score } of hits) {
    if (score < low) low = score;
    if (score > high) high = score;
  }
  const span = high - low;
  return (score) => (span === 0 ? 1 : (score - low) / span);
}

/** What a retriever adds for a hit of this rank (from 1) and score. */
function contribution(ranking: Ranking, fusion: Fusion): (rank: number, score: number) => number {
  const { weight } = ranking;
  switch (fusion.method) {
    case "rrf":
      return (rank) => weight / (fusion.k + rank);
    case "weighted": {
      const normalize = normalized(ranking.hits);
      return (_, score) => weight * normalize(score);
    }
  }
}

interface Fusing extends FusedHit {
  score: number;
  sources?: HitPlace[];
}

/** All hits of all retrievers, each document once, best first and ties by id. `withSources` costs an object for each of them. */
export function fuse(rankings: readonly Ranking[], fusion: Fusion = defaultFusion, withSources = false): FusedHit[] {
  const byId = new Map<number, Fusing>();
  for (const [r, ranking] of rankings.entries()) {
    const adds = contribution(ranking, fusion);
    for (let i = 0; i < ranking.hits.length; i++) {
      const { id, reader, doc, score } = ranking.hits[i]!;
      const added = adds(i + 1, score);
      let fused = byId.get(id);
      if (fused !== undefined) fused.score += added;
      else {
        fused = { id, score: added, reader, doc };
        byId.set(id, fused);
      }
      if (!withSources) continue;
      fused.sources ??= Array<HitPlace>(rankings.length).fill(undefined);
      fused.sources[r] = { rank: i + 1, score };
    }
  }
  return [...byId.values()].sort(compareHits);
}

/** One retriever's answer kept as it is, in the shape of a fused one. */
export function single(hits: readonly Hit[]): FusedHit[] {
  return hits.map((hit, i) => ({ ...hit, sources: [{ rank: i + 1, score: hit.score }] }));
}
