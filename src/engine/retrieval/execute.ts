import { facetOfHits, facetOfMatchesSteps } from "../search/facets.ts";
import { type FusedHit, fuse, single } from "../search/fuse.ts";
import { groupHits, groupMatchesSteps } from "../search/group.ts";
import type { Bitset } from "../search/index/bitset.ts";
import type { IndexReader } from "../search/index/reader.ts";
import type { Hit } from "../search/index/top-k.ts";
import { sortHits, sortMatchesSteps } from "../search/sort.ts";
import { type TextStatistics, textStatistics } from "../search/text/bm25.ts";
import { matchedClauses } from "../search/text/search.ts";
import type { Steps } from "../turns.ts";
import type { HitGroup, HitSource, PartStats, QueryOutcome, RankedHit, StageTimes } from "./outcome.ts";
import { PartFilters } from "./part-filters.ts";
import { pinReaders } from "./pin.ts";
import type { SearchPlan } from "./plan.ts";
import { retrieve, type VectorSearch } from "./retrieve.ts";
import { queryStopped } from "./stopped.ts";

/** What a query runs on: the parts of one collection, as they are when the first step is taken. */
export interface QueryParts<G = unknown> {
  readonly readers: readonly IndexReader[];
  /** The vector graphs of each part; a part without one is searched exactly. */
  readonly graphs?: readonly (G | undefined)[];
  /** What `explain` says of them. */
  readonly describeGraphs?: (graphs: G) => PartStats["graphs"];
  /** How to search a part that has graphs. Without it every vector search is exact. */
  readonly vectorSearch?: VectorSearch<G>;
  /** By retriever, where `readers` are not all parts of the collection. */
  readonly statistics?: readonly (TextStatistics | undefined)[];
  /** Milliseconds of a steady clock. */
  readonly steadyMs: () => number;
}

/**
 * Runs a query in short steps. Between two of them the thread may run other queries and apply writes: the query goes on
 * with the parts as they were at its first step. To stop it, take no more steps.
 */
export function* executeSteps<G>(plan: SearchPlan, parts: QueryParts<G>): Steps<QueryOutcome> {
  const run = new Run(plan, parts);
  return plan.retrievers.length === 0 ? yield* run.matches() : yield* run.retrieved();
}

/** Runs a query to its end; stopped between two steps once `isCancelled` says so. */
export function executeQuery<G>(
  plan: SearchPlan,
  parts: QueryParts<G>,
  isCancelled: () => boolean = () => false,
): QueryOutcome {
  const steps = executeSteps(plan, parts);
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    if (isCancelled()) throw queryStopped();
  }
}

/** Hits that one step explains: each looks up all terms of the query. */
const explainStepHits = 256;

type MutableTimes = { -readonly [key in keyof StageTimes]: StageTimes[key] extends number ? number : number[] };

class Run<G> {
  readonly #plan: SearchPlan;
  readonly #parts: QueryParts<G>;
  readonly #readers: readonly IndexReader[];
  readonly #filters: PartFilters;
  readonly #statistics: readonly (TextStatistics | undefined)[];
  readonly #times: MutableTimes;

  /** Takes everything from the parts that later writes would change. */
  constructor(plan: SearchPlan, parts: QueryParts<G>) {
    const started = parts.steadyMs();
    this.#plan = plan;
    this.#parts = parts;
    this.#readers = pinReaders(parts.readers);
    this.#filters = new PartFilters(this.#readers, plan.filter);
    this.#statistics = plan.retrievers.map((retriever, i) =>
      retriever.kind === "text" ? (parts.statistics?.[i] ?? textStatistics(parts.readers, retriever.query)) : undefined,
    );
    this.#times = { statistics: 0, filters: 0, retrievers: [], ranking: 0, facets: 0, explain: 0 };
    this.#times.statistics = parts.steadyMs() - started;
  }

  /** Without a retriever: the filter's matches, by the sort keys or by id. */
  *matches(): Steps<QueryOutcome> {
    const { sort, limit, offset, groupBy } = this.#plan;
    const readers = this.#readers;
    const matches = yield* this.#timed("filters", this.#filters.matches());
    const facets = yield* this.#timed("facets", this.#facetsOfMatches(matches));
    const candidates = matches.reduce((sum, set) => sum + set.count(), 0);
    if (groupBy !== undefined) {
      const { field, size } = groupBy;
      const grouping = groupMatchesSteps(readers, field, sort, matches, size, limit, offset);
      const groups = yield* this.#timed("ranking", grouping);
      return yield* this.#outcome([], groups, facets, [], candidates);
    }
    const sorting = sortMatchesSteps(readers, sort, matches, offset + limit);
    const hits = (yield* this.#timed("ranking", sorting)).slice(offset);
    return yield* this.#outcome(hits, undefined, facets, [], candidates);
  }

  *#facetsOfMatches(matches: readonly Bitset[]): Steps<QueryOutcome["facets"]> {
    const facets: QueryOutcome["facets"][number][] = [];
    for (const { field, limit } of this.#plan.facets) {
      facets.push(yield* facetOfMatchesSteps(this.#readers, field, matches, limit));
    }
    return facets;
  }

  /** What the retrievers found, fused. */
  *retrieved(): Steps<QueryOutcome> {
    const { retrievers, facets, minScore, sort } = this.#plan;
    const readers = this.#readers;
    const rankings: { weight: number; hits: Hit[] }[] = [];
    for (const [i, retriever] of retrievers.entries()) {
      const allowed = yield* this.#timed("filters", this.#filters.allowed(retriever.filter));
      const started = this.#times.retrievers.push(0) - 1;
      const searching = retrieve(retriever, readers, allowed, this.#statistics[i], this.#parts);
      const hits = yield* this.#timed(started, searching);
      rankings.push({ weight: retriever.weight, hits });
    }
    const fused = this.#measure("ranking", () => this.#fuse(rankings));
    const counts = this.#measure("facets", () =>
      facets.map(({ field, limit }) => facetOfHits(readers, field, fused, limit)),
    );
    yield;
    const page = this.#measure("ranking", () => {
      const ranked = minScore === undefined ? fused : fused.filter((hit) => hit.score >= minScore);
      return this.#page(sort.length === 0 ? ranked : sortHits(readers, sort, ranked));
    });
    const sizes = rankings.map(({ hits }) => hits.length);
    return yield* this.#outcome(page.hits, page.groups, counts, sizes, fused.length);
  }

  #fuse(rankings: readonly { weight: number; hits: Hit[] }[]): readonly FusedHit[] {
    const { fusion, explain } = this.#plan;
    const only = rankings.length === 1 && fusion === undefined ? rankings[0] : undefined;
    if (only === undefined) return fuse(rankings, fusion, explain);
    return explain ? single(only.hits) : only.hits;
  }

  #page(hits: readonly FusedHit[]): {
    hits: readonly FusedHit[];
    groups?: { key: HitGroup["key"]; hits: readonly FusedHit[] }[];
  } {
    const { limit, offset, groupBy } = this.#plan;
    if (groupBy === undefined) return { hits: hits.slice(offset, offset + limit) };
    const groups = groupHits(this.#readers, groupBy.field, hits, groupBy.size, limit, offset);
    return { hits: [], groups };
  }

  *#outcome(
    hits: readonly FusedHit[],
    groups: readonly { key: HitGroup["key"]; hits: readonly FusedHit[] }[] | undefined,
    facets: QueryOutcome["facets"],
    retrieved: readonly number[],
    candidates: number,
  ): Steps<QueryOutcome> {
    const shown = yield* this.#timed("explain", this.#rankedAll(hits));
    const shownGroups: HitGroup[] = [];
    for (const { key, hits } of groups ?? []) {
      shownGroups.push({ key, hits: yield* this.#timed("explain", this.#rankedAll(hits)) });
    }
    const stats = { retrieved, candidates, timesMs: this.#times };
    return {
      hits: shown,
      ...(groups === undefined ? {} : { groups: shownGroups }),
      facets,
      stats: this.#plan.explain ? { ...stats, parts: this.#partStats() } : stats,
    };
  }

  *#rankedAll(hits: readonly FusedHit[]): Steps<RankedHit[]> {
    const ranked: RankedHit[] = [];
    for (const hit of hits) {
      ranked.push(this.#ranked(hit));
      if (this.#plan.explain && ranked.length % explainStepHits === 0) yield;
    }
    return ranked;
  }

  #ranked(hit: FusedHit): RankedHit {
    const { id, score, reader, doc } = hit;
    const version = this.#readers[reader]!.versions[doc]!;
    if (!this.#plan.explain) return { id, version, score };
    const { sources: found = [] } = hit;
    const sources = this.#plan.retrievers.map((retriever, i): HitSource => {
      const source = found[i];
      if (retriever.kind !== "text") return { ...source };
      return { ...source, matched: matchedClauses(this.#readers[reader]!, doc, retriever.query) };
    });
    return { id, version, score, sources };
  }

  #partStats(): PartStats[] {
    const { graphs: all = [], describeGraphs } = this.#parts;
    return this.#readers.map((reader, r) => {
      const part = all[r];
      const graphs = part && describeGraphs?.(part);
      return {
        kind: reader.idsAscending ? "segment" : "tail",
        documents: reader.liveCount,
        deleted: reader.docCount - reader.liveCount,
        graph: part !== undefined,
        ...(graphs === undefined ? {} : { graphs }),
      };
    });
  }

  #add(stage: keyof StageTimes | number, ms: number): void {
    if (typeof stage === "number") this.#times.retrievers[stage]! += ms;
    else if (stage !== "retrievers") this.#times[stage] += ms;
  }

  #measure<T>(stage: keyof StageTimes, work: () => T): T {
    const started = this.#parts.steadyMs();
    const result = work();
    this.#add(stage, this.#parts.steadyMs() - started);
    return result;
  }

  /** Passes the steps on, counting the time within them for a stage, or for the retriever of that number. */
  *#timed<T>(stage: keyof StageTimes | number, steps: Steps<T>): Steps<T> {
    for (;;) {
      const started = this.#parts.steadyMs();
      const step = steps.next();
      this.#add(stage, this.#parts.steadyMs() - started);
      if (step.done) return step.value;
      yield;
    }
  }
}
