import { analyzerByName, termsOf } from "../../../src/engine/schema/analysis/analyzer.ts";
import { parseDate } from "../../../src/engine/schema/date.ts";
import { findField } from "../../../src/engine/schema/schema.ts";
import { byCodePoint, matches } from "./arbitraries.ts";
import { best, type Doc, fieldValues, type ModelHit, schema, TextModel } from "./model.ts";

/** The query language by the book, on plain documents: scans, whole sorts, no index. */
type Json = Record<string, unknown>;
export type Docs = ReadonlyMap<number, Doc>;

export interface ModelOutcome {
  readonly hits: readonly ModelHit[];
  readonly groups: readonly { key: unknown; hits: readonly ModelHit[] }[] | undefined;
  readonly facets: readonly (readonly { value: unknown; count: number }[])[];
  /** Each retriever's own answer. */
  readonly rankings: readonly (readonly ModelHit[])[];
}

const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
const inverse = (x: readonly number[]) => (dot(x, x) === 0 ? 0 : 1 / Math.sqrt(dot(x, x)));

/** Components are small multiples of 1/4, so that sums are exact in any order. */
function vectorScore(name: string, x: readonly number[], y: readonly number[]): number {
  if (name === "d") return dot(x, y);
  if (name === "l") return 1 / (1 + x.reduce((sum, value, i) => sum + (value - y[i]!) ** 2, 0));
  return dot(x, y) * inverse(x) * inverse(y);
}

export function textClauses(field: string, text: string): { terms: string[]; offsets: number[] }[] {
  const kind = findField(schema, field)!.kind as { analyzer: string; positions: boolean };
  const analyzer = analyzerByName(kind.analyzer);
  const clauses = new Map<string, { terms: string[]; offsets: number[] }>();
  for (const [, phrase, word] of text.matchAll(/"([^"]*)"|(\S+)/g)) {
    const terms = termsOf(analyzer, phrase ?? word!);
    const whole = phrase !== undefined && kind.positions && terms.length > 1;
    for (const group of whole ? [terms] : terms.map((term) => [term])) {
      clauses.set(group.join(" "), { terms: group, offsets: [...group.keys()] });
    }
  }
  return [...clauses.values()];
}

function retrieve(docs: Docs, kind: string, body: Json, allowed: (id: number) => boolean): ModelHit[] {
  const field = body["field"] as string;
  const hits: ModelHit[] = [];
  if (kind === "text") {
    const clauses = textClauses(field, body["query"] as string);
    return new TextModel(docs, field).search(clauses, (body["operator"] ?? "or") as "or" | "and", allowed);
  }
  for (const [id, doc] of docs) {
    if (!allowed(id)) continue;
    if (kind === "vector") {
      const own = doc.vectors[field];
      if (own !== undefined) hits.push({ id, score: vectorScore(field, body["query"] as number[], own) });
      continue;
    }
    const own = doc.sparse[field];
    const { indices, values } = body["query"] as { indices: number[]; values: number[] };
    const weights = new Map(own?.indices.map((index, i) => [index, own.values[i]!]));
    const shared = indices.filter((index) => weights.has(index));
    if (shared.length === 0) continue;
    hits.push({ id, score: shared.reduce((sum, i) => sum + weights.get(i)! * values[indices.indexOf(i)]!, 0) });
  }
  return hits;
}

function fused(rankings: readonly (readonly ModelHit[])[], weights: readonly number[], fuse: Json): ModelHit[] {
  const scores = new Map<number, number>();
  rankings.forEach((hits, r) => {
    const all = hits.map((hit) => hit.score);
    const low = Math.min(...all);
    const span = Math.max(...all) - low;
    hits.forEach((hit, i) => {
      const share =
        fuse["method"] === "weighted"
          ? weights[r]! * (span === 0 ? 1 : (hit.score - low) / span)
          : weights[r]! / (Number(fuse["k"] ?? 60) + i + 1);
      scores.set(hit.id, (scores.get(hit.id) ?? 0) + share);
    });
  });
  return best(
    [...scores].map(([id, score]) => ({ id, score })),
    scores.size,
  );
}

/** A field's values as the index compares them. */
function stored(doc: Doc, name: string): (string | number)[] {
  const { kind } = findField(schema, name)!.kind;
  return fieldValues(doc, name).map((value) =>
    kind === "date" ? parseDate(value)! : kind === "bool" ? Number(value) : (value as string | number),
  );
}

function shown(name: string, value: string | number): unknown {
  const { kind } = findField(schema, name)!.kind;
  return kind === "date" ? new Date(value).toISOString() : kind === "bool" ? value === 1 : value;
}

const compare = (x: string | number, y: string | number) =>
  typeof x === "string" ? byCodePoint(x, y as string) : x - Number(y);

function sorted(docs: Docs, hits: readonly ModelHit[], keys: readonly Json[]): ModelHit[] {
  const value = (hit: ModelHit, { field, order }: Json) => {
    if (field === "_id") return hit.id;
    if (field === "_score") return hit.score;
    const values = stored(docs.get(hit.id)!, field as string).sort(compare);
    return order === "desc" ? values.at(-1) : values[0];
  };
  return [...hits].sort((x, y) => {
    for (const key of keys) {
      const order = key["order"] ?? (key["field"] === "_score" ? "desc" : "asc");
      const a = value(x, { ...key, order });
      const b = value(y, { ...key, order });
      if (a === undefined && b === undefined) continue;
      if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
      const sign = order === "asc" ? compare(a, b) : compare(b, a);
      if (sign !== 0) return sign;
    }
    return x.id - y.id;
  });
}

function facet(docs: Docs, hits: readonly ModelHit[], { field, limit }: Json) {
  const counts = new Map<string | number, number>();
  for (const { id } of hits) {
    for (const value of new Set(stored(docs.get(id)!, field as string)))
      counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .sort(([x, m], [y, n]) => n - m || compare(x, y))
    .slice(0, (limit ?? 10) as number)
    .map(([value, count]) => ({ value: shown(field as string, value), count }));
}

function grouped(docs: Docs, hits: readonly ModelHit[], field: string): Map<string | number, ModelHit[]> {
  const groups = new Map<string | number, ModelHit[]>();
  for (const hit of hits) {
    for (const value of new Set(stored(docs.get(hit.id)!, field)))
      groups.set(value, [...(groups.get(value) ?? []), hit]);
  }
  return groups;
}

/** The answer to a REST query body. */
export function answer(docs: Docs, body: Json): ModelOutcome {
  const matching = (filter: unknown) => (id: number) =>
    filter === undefined || matches(filter as Json, id, docs.get(id)!);
  const common = matching(body["filter"]);
  const retrievers = ((body["retrieve"] ?? []) as Json[]).map((entry) => Object.entries(entry)[0]! as [string, Json]);
  const rankings = retrievers.map(([kind, asked]) => {
    const own = matching(asked["filter"]);
    return best(
      retrieve(docs, kind, asked, (id) => common(id) && own(id)),
      asked["k"] as number,
    );
  });
  let found: ModelHit[];
  if (retrievers.length === 0) {
    found = [...docs.keys()]
      .filter(common)
      .map((id) => ({ id, score: 0 }))
      .sort((x, y) => x.id - y.id);
  } else if (retrievers.length === 1 && body["fuse"] === undefined) found = rankings[0]!;
  else {
    const weights = retrievers.map(([, asked]) => (asked["weight"] ?? 1) as number);
    found = fused(rankings, weights, (body["fuse"] ?? {}) as Json);
  }
  const facets = ((body["facets"] ?? []) as Json[]).map((asked) => facet(docs, found, asked));
  const least = body["min_score"] as number | undefined;
  let hits = least === undefined ? found : found.filter((hit) => hit.score >= least);
  const keys = (body["sort"] ?? []) as Json[];
  if (keys.length > 0) hits = sorted(docs, hits, keys);
  const from = (body["offset"] ?? 0) as number;
  const to = from + ((body["limit"] ?? 10) as number);
  const groupBy = body["group_by"] as { field: string; size?: number } | undefined;
  if (groupBy === undefined) return { hits: hits.slice(from, to), groups: undefined, facets, rankings };
  const groups = [...grouped(docs, hits, groupBy.field)]
    .slice(from, to)
    .map(([key, members]) => ({ key: shown(groupBy.field, key), hits: members.slice(0, groupBy.size ?? 3) }));
  return { hits: [], groups, facets, rankings };
}
