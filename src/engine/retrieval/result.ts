import { invalid } from "../errors.ts";
import { parseExact } from "../exact-json.ts";
import { sourceValues } from "../search/document.ts";
import type { FacetCount } from "../search/facets.ts";
import { searchLimits } from "../search/limits.ts";
import { highlight } from "../search/text/highlight.ts";
import type { ClientValue } from "../search/values.ts";
import { shortFloats } from "../search/vector/short-floats.ts";
import type { ConsistencyToken } from "../token.ts";
import type { Steps } from "../turns.ts";
import { describeHit, describeSearch } from "./describe.ts";
import { isObject, type Json } from "./json-fields.ts";
import { queryLimits } from "./limits.ts";
import type { QueryOutcome, RankedHit } from "./outcome.ts";
import type { HighlightField, QueryPlan } from "./plan.ts";

/** A stored document; `source` may be the JSON text, which is then read only when a row shows something of it. */
export interface LoadedDocument {
  readonly source: string | Json;
  /** The length of the source's text, where it is known. */
  readonly characters?: number;
  readonly vectors?: ReadonlyMap<string, ArrayLike<number>>;
  readonly sparseVectors?: ReadonlyMap<string, { indices: ArrayLike<number>; values: ArrayLike<number> }>;
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

/** What the rows of one request may still weigh: all of them are in memory until the answer is sent. */
export class RowRoom {
  readonly #field: string;
  readonly #shared: { left: number };

  /** `field` is what an error names. */
  constructor(field = "limit", shared = { left: queryLimits.rowBytesMax }) {
    this.#field = field;
    this.#shared = shared;
  }

  /** The same room for another query of the request. */
  as(field: string): RowRoom {
    return new RowRoom(field, this.#shared);
  }

  take(bytes: number): void {
    this.#shared.left -= bytes;
    if (this.#shared.left >= 0) return;
    throw invalid(
      this.#field,
      `the rows are more than ${queryLimits.rowBytesMax} bytes; ask for fewer, or select less of them`,
    );
  }
}

/**
 * The reply to a query, in the form of REST, in steps of a few rows. `tookMs` is asked at the end: it includes the wait for
 * a thread.
 */
export function* buildResult(
  plan: QueryPlan,
  outcome: QueryOutcome,
  load: LoadDocument,
  token: ConsistencyToken,
  tookMs: () => number,
  room = new RowRoom(),
): Steps<QueryResult> {
  const { facets } = outcome;
  const rows = outcome.groups === undefined ? yield* buildRows(plan, outcome.hits, load, room) : [];
  const groups: { key: ClientValue; rows: Row[] }[] = [];
  for (const { key, hits } of outcome.groups ?? []) {
    groups.push({ key, rows: yield* buildRows(plan, hits, load, room) });
  }
  return {
    ...(outcome.groups === undefined ? { rows } : { groups }),
    ...(plan.facets.length === 0
      ? {}
      : { facets: Object.fromEntries(plan.facets.map(({ field }, i) => [field.name, facets[i] ?? []])) }),
    token,
    // To the microsecond.
    took_ms: Math.round(tookMs() * 1000) / 1000,
    ...(plan.explain ? { stats: describeSearch(plan, outcome) } : {}),
  };
}

/** A source up to this length is taken for what a row shows of it; of a longer one the shown values are measured. */
const measuredMin = 4 * 1024;
/** What a number takes as text, about. */
const numberBytes = 12;
/** Rows of one step, by what they weigh: a tenth of a millisecond. To stop after each would cost a short row more than the row. */
const stepBytes = 16 * 1024;
/** What a row weighs besides its content. */
const rowBytes = 256;

function* buildRows(plan: QueryPlan, hits: readonly RankedHit[], load: LoadDocument, room: RowRoom): Steps<Row[]> {
  const { fields, vectors, sparseVectors } = plan.projection;
  const readsSource = fields.length > 0 || plan.highlight !== undefined;
  const rows: Row[] = [];
  let left = stepBytes;
  for (const hit of hits) {
    const document = load(hit);
    if (document === undefined) continue;
    const { characters = 0 } = document;
    const row: Row = { _id: hit.id, _score: hit.score };
    const source = readsSource ? parsed(document.source) : {};
    for (const field of fields) {
      const value = valueAt(source, field.sourcePath);
      if (value !== undefined) row[field.name] = value;
    }
    for (const name of vectors) {
      const vector = document.vectors?.get(name);
      if (vector !== undefined) row[name] = shortFloats(vector);
    }
    for (const name of sparseVectors) {
      const vector = document.sparseVectors?.get(name);
      if (vector !== undefined) row[name] = { indices: Array.from(vector.indices), values: shortFloats(vector.values) };
    }
    if (plan.highlight !== undefined) row._highlights = highlights(plan.highlight, source);
    if (plan.explain) row._explain = describeHit(plan, hit);
    const bytes = characters <= measuredMin && vectors.length + sparseVectors.length === 0 ? characters : bytesOf(row);
    room.take(bytes);
    rows.push(row);
    left -= rowBytes + Math.max(bytes, characters);
    if (left > 0) continue;
    left = stepBytes;
    yield;
  }
  return rows;
}

/** About what a value takes as text. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return numberBytes;
  if (Array.isArray(value)) {
    if (typeof value[0] === "number") return value.length * numberBytes;
    return value.reduce((sum: number, entry) => sum + bytesOf(entry), 0);
  }
  return Object.entries(value).reduce((sum, [name, entry]) => sum + name.length + bytesOf(entry), 0);
}

function parsed(source: string | Json): Json {
  return typeof source === "string" ? (parseExact(source) as Json) : source;
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
function highlights(fields: readonly HighlightField[], source: Json): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const { field, analyzer, clauses } of fields) {
    if (clauses.length === 0) continue;
    const texts = sourceValues(source, field.sourcePath).filter((value) => typeof value === "string");
    const fragments = texts.flatMap((text) => highlight(text, analyzer, clauses));
    if (fragments.length > 0) found[field.name] = fragments.slice(0, searchLimits.highlightFragmentsMax);
  }
  return found;
}
