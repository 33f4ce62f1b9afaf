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

/** What a retriever adds for each of its hits. */
function contributions(ranking: Ranking, fusion: Fusion): number[] {
  switch (fusion.method) {
    case "rrf":
      return ranking.hits.map((_, i) => ranking.weight / (fusion.k + i + 1));
    case "weighted": {
      const normalize = normalized(ranking.hits);
      return ranking.hits.map((hit) => ranking.weight * normalize(hit.score));
    }
  }
}

/** All hits of all retrievers, each document once, best first and ties by id. */
export function fuse(rankings: readonly Ranking[], fusion: Fusion = defaultFusion): FusedHit[] {
  interface Building {
    hit: Hit;
    score: number;
    sources: ({ rank: number; score: number } | undefined)[];
  }
  const byId = new Map<number, Building>();
  rankings.forEach((ranking, r) => {
    const added = contributions(ranking, fusion);
    ranking.hits.forEach((hit, i) => {
      let fused = byId.get(hit.id);
      if (fused === undefined) {
        fused = { hit, score: 0, sources: rankings.map(() => undefined) };
        byId.set(hit.id, fused);
      }
      fused.score += added[i]!;
      fused.sources[r] = { rank: i + 1, score: hit.score };
    });
  });
  return [...byId.values()]
    .map(({ hit, score, sources }) => ({ id: hit.id, reader: hit.reader, doc: hit.doc, score, sources }))
    .sort(compareHits);
}

/** One retriever's answer kept as it is, in the shape of a fused one. */
export function single(hits: readonly Hit[]): FusedHit[] {
  return hits.map((hit, i) => ({ ...hit, sources: [{ rank: i + 1, score: hit.score }] }));
}
