import { compareHits, type Hit } from "./index/top-k.ts";

/** One retriever's answer, best first. */
export interface Ranking {
  readonly weight: number;
  readonly hits: readonly Hit[];
}

/** A hit after fusion, with its rank (from 1) and score in each retriever, or undefined where it was not found. */
export interface FusedHit extends Hit {
  readonly sources: readonly ({ readonly rank: number; readonly score: number } | undefined)[];
}

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

/** All hits of all retrievers, each document once, best first and ties by id. */
export function fuse(rankings: readonly Ranking[], fusion: Fusion = defaultFusion): FusedHit[] {
  const byId = new Map<number, { -readonly [K in keyof FusedHit]: FusedHit[K] }>();
  rankings.forEach((ranking, r) => {
    const adds = contribution(ranking, fusion);
    ranking.hits.forEach((hit, i) => {
      const { id, reader, doc, score } = hit;
      const added = adds(i + 1, score);
      const source = { rank: i + 1, score };
      const known = byId.get(id);
      if (known === undefined) {
        const sources = Array<FusedHit["sources"][number]>(rankings.length).fill(undefined);
        sources[r] = source;
        byId.set(id, { id, score: added, reader, doc, sources });
        return;
      }
      known.score += added;
      (known.sources as FusedHit["sources"][number][])[r] = source;
    });
  });
  return [...byId.values()].sort(compareHits);
}

/** One retriever's answer kept as it is, in the shape of a fused one. */
export function single(hits: readonly Hit[]): FusedHit[] {
  return hits.map((hit, i) => ({ ...hit, sources: [{ rank: i + 1, score: hit.score }] }));
}
