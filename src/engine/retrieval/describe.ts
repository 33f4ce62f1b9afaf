import { defaultFusion } from "../search/fuse.ts";
import type { SortKey } from "../search/sort.ts";
import type { Json } from "./json-fields.ts";
import type { QueryOutcome, RankedHit } from "./outcome.ts";
import type { Retriever, SearchPlan } from "./plan.ts";

/** What `explain` says of one row: each retriever's rank and score, and the terms that matched. */
export function describeHit(plan: SearchPlan, hit: RankedHit): Json {
  return {
    retrievers: plan.retrievers.map(({ kind, field }, i) => {
      const { rank, score, matched } = hit.sources?.[i] ?? {};
      return {
        kind,
        field,
        rank: rank ?? null,
        score: score ?? null,
        ...(matched === undefined ? {} : { terms: matched }),
      };
    }),
  };
}

/** What `explain` says of the query: the plan, the parts it ran on and the times. */
export function describeSearch(plan: SearchPlan, outcome: QueryOutcome): Json {
  const { retrieved, candidates, timesMs, parts = [] } = outcome.stats;
  const tails = parts.filter(({ kind }) => kind === "tail");
  return {
    plan: describePlan(plan),
    segments: parts.length - tails.length,
    tail_documents: tails.reduce((sum, tail) => sum + tail.documents, 0),
    parts,
    retrieved,
    candidates,
    times_ms: timesMs,
  };
}

function describePlan(plan: SearchPlan): Json {
  const { collection, filter, limit, offset, groupBy, minScore, consistency } = plan;
  return {
    collection,
    retrievers: plan.retrievers.map(describeRetriever),
    fusion: plan.fusion ?? (plan.retrievers.length > 1 ? defaultFusion : null),
    filter: filter ?? null,
    sort: plan.sort.map(describeSort),
    limit,
    offset,
    ...(groupBy === undefined ? {} : { group_by: { field: groupBy.field.name, size: groupBy.size } }),
    ...(minScore === undefined ? {} : { min_score: minScore }),
    consistency,
  };
}

function describeSort({ field, order }: SortKey): Json {
  return { field: typeof field === "string" ? field : field.name, order };
}

function describeRetriever(retriever: Retriever): Json {
  const { kind, field, k, weight, filter } = retriever;
  const shared = { kind, field, k, weight, ...(filter === undefined ? {} : { filter }) };
  switch (retriever.kind) {
    case "vector":
      return { ...shared, dim: retriever.query.length, exact: retriever.exact, ef: retriever.ef ?? null };
    case "text":
      return { ...shared, operator: retriever.query.operator, clauses: retriever.query.clauses };
    case "sparse":
      return { ...shared, entries: retriever.query.indices.length };
  }
}
