import { sourceValues } from "../search/document.ts";
import type { FacetCount } from "../search/facets.ts";
import { searchLimits } from "../search/limits.ts";
import { highlight } from "../search/text/highlight.ts";
import type { ClientValue } from "../search/values.ts";
import { shortFloats } from "../search/vector/short-floats.ts";
import type { ConsistencyToken } from "../token.ts";
import { describeHit, describeSearch } from "./describe.ts";
import { isObject, type Json } from "./json-fields.ts";
import type { QueryOutcome, RankedHit } from "./outcome.ts";
import type { HighlightField, QueryPlan } from "./plan.ts";

/** A stored document; `source` may be the JSON text, which is then read only when a row shows something of it. */
export interface LoadedDocument {
  readonly source: string | Json;
  readonly vectors?: Readonly<Record<string, ArrayLike<number>>>;
  readonly sparseVectors?: Readonly<Record<string, { indices: ArrayLike<number>; values: ArrayLike<number> }>>;
}

/**
 * The document of a hit, or undefined when it is gone: then its row is left out. A strong read must load from a snapshot
 * of the store that was taken when the search was ordered, from a writer that hands its writes to the searching thread
 * in the same order: then index and snapshot show the same writes, and `hit.version` is the version loaded. An eventual
 * read may load the newest.
 */
export type LoadDocument = (hit: RankedHit) => LoadedDocument | undefined;

/** The shown fields and vectors by their names, beside what every row has and what was asked for. */
export interface Row {
  readonly _id: number;
  readonly _score: number;
  _highlights?: Readonly<Record<string, string[]>>;
  _explain?: Json;
  [name: string]: unknown;
}

export interface QueryResult {
  readonly rows?: readonly Row[];
  readonly groups?: readonly { readonly key: ClientValue; readonly rows: readonly Row[] }[];
  readonly facets?: Readonly<Record<string, readonly FacetCount[]>>;
  readonly token: ConsistencyToken;
  readonly took_ms: number;
  readonly stats?: Json;
}

/** The reply to a query, in the form of REST. `took_ms` is the caller's to measure: it includes the wait for a thread. */
export function buildResult(
  plan: QueryPlan,
  outcome: QueryOutcome,
  load: LoadDocument,
  token: ConsistencyToken,
  tookMs: number,
): QueryResult {
  const rows = (hits: readonly RankedHit[]) => buildRows(plan, hits, load);
  const { facets } = outcome;
  return {
    ...(outcome.groups === undefined
      ? { rows: rows(outcome.hits) }
      : { groups: outcome.groups.map(({ key, hits }) => ({ key, rows: rows(hits) })) }),
    ...(plan.facets.length === 0
      ? {}
      : { facets: Object.fromEntries(plan.facets.map(({ field }, i) => [field.name, facets[i] ?? []])) }),
    token,
    took_ms: tookMs,
    ...(plan.explain ? { stats: describeSearch(plan, outcome) } : {}),
  };
}

function buildRows(plan: QueryPlan, hits: readonly RankedHit[], load: LoadDocument): Row[] {
  const { fields, vectors, sparseVectors } = plan.projection;
  const readsSource = fields.length > 0 || plan.highlight !== undefined;
  const rows: Row[] = [];
  for (const hit of hits) {
    const document = load(hit);
    if (document === undefined) continue;
    const row: Row = { _id: hit.id, _score: hit.score };
    const source = readsSource ? parsed(document.source) : {};
    for (const field of fields) {
      const value = valueAt(source, field.sourcePath);
      if (value !== undefined) row[field.name] = value;
    }
    for (const name of vectors) {
      const vector = document.vectors?.[name];
      if (vector !== undefined) row[name] = shortFloats(vector);
    }
    for (const name of sparseVectors) {
      const vector = document.sparseVectors?.[name];
      if (vector !== undefined) row[name] = { indices: Array.from(vector.indices), values: shortFloats(vector.values) };
    }
    if (plan.highlight !== undefined) row._highlights = highlights(plan.highlight, source);
    if (plan.explain) row._explain = describeHit(plan, hit);
    rows.push(row);
  }
  return rows;
}

function parsed(source: string | Json): Json {
  return typeof source === "string" ? (JSON.parse(source) as Json) : source;
}

/**
 * What stands at a dotted path, as it was written. Through an array of objects it is the array of what they hold; a key
 * with a dot in it comes before a nested one, as the index reads it.
 */
export function valueAt(value: unknown, path: string): unknown {
  if (Array.isArray(value)) {
    const found = value.map((entry) => valueAt(entry, path)).filter((entry) => entry !== undefined);
    return found.length === 0 ? undefined : found.flat();
  }
  if (!isObject(value)) return undefined;
  if (Object.hasOwn(value, path)) return value[path];
  const dot = path.indexOf(".");
  if (dot === -1) return undefined;
  const head = path.slice(0, dot);
  return Object.hasOwn(value, head) ? valueAt(value[head], path.slice(dot + 1)) : undefined;
}

/** Field to fragments; a field in which nothing matches is left out. */
function highlights(asked: readonly HighlightField[], source: Json): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const { field, analyzer, clauses } of asked) {
    if (clauses.length === 0) continue;
    const texts = sourceValues(source, field.sourcePath).filter((value) => typeof value === "string");
    const fragments = texts.flatMap((text) => highlight(text, analyzer, clauses));
    if (fragments.length > 0) found[field.name] = fragments.slice(0, searchLimits.highlightFragmentsMax);
  }
  return found;
}
