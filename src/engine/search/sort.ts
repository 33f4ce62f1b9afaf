import type { FieldSpec } from "../schema/schema.ts";
import { runSteps, type Steps } from "../turns.ts";
import type { Bitset } from "./index/bitset.ts";
import { compareTerms, type IndexReader } from "./index/reader.ts";
import { type Hit, TopK } from "./index/top-k.ts";
import { stepDocs } from "./limits.ts";

export const sortOrders = ["asc", "desc"] as const;
export type SortOrder = (typeof sortOrders)[number];

/** `field` is a fast field, or the id or score of the hit. */
export interface SortKey {
  readonly field: FieldSpec | "_id" | "_score";
  readonly order: SortOrder;
}

type Value = string | number | undefined;

/** Of several values the least counts ascending and the greatest descending. */
function sortValue(reader: IndexReader, field: string, doc: number, order: SortOrder): Value {
  let best: Value;
  const strings = reader.strings(field);
  const column = strings?.column ?? reader.numbers(field)?.column;
  if (column === undefined) return undefined;
  for (let i = column.starts[doc]!; i < column.starts[doc + 1]!; i++) {
    const stored = column.values[i]!;
    const value = strings === undefined ? stored : strings.term(stored);
    if (best === undefined) best = value;
    else if (order === "asc" ? compare(value, best) < 0 : compare(value, best) > 0) best = value;
  }
  return best;
}

function compare(x: string | number, y: string | number): number {
  return typeof x === "string" && typeof y === "string" ? compareTerms(x, y) : Number(x) - Number(y);
}

/** Documents without a value come last in either order. */
function compareValues(x: Value, y: Value, order: SortOrder): number {
  if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1;
  return order === "asc" ? compare(x, y) : compare(y, x);
}

export interface Keyed<H> {
  readonly hit: H;
  readonly values: readonly Value[];
}

export function keyed<H extends Hit>(readers: readonly IndexReader[], keys: readonly SortKey[], hit: H): Keyed<H> {
  const values = keys.map(({ field, order }) => {
    if (field === "_id") return hit.id;
    if (field === "_score") return hit.score;
    return sortValue(readers[hit.reader]!, field.name, hit.doc, order);
  });
  return { hit, values };
}

export function comparator<H extends Hit>(keys: readonly SortKey[]): (x: Keyed<H>, y: Keyed<H>) => number {
  return (x, y) => {
    for (let i = 0; i < keys.length; i++) {
      const order = compareValues(x.values[i], y.values[i], keys[i]!.order);
      if (order !== 0) return order;
    }
    return x.hit.id - y.hit.id;
  };
}

/** Hits by the given keys, ties by id. */
export function sortHits<H extends Hit>(
  readers: readonly IndexReader[],
  keys: readonly SortKey[],
  hits: readonly H[],
): H[] {
  return hits
    .map((hit) => keyed(readers, keys, hit))
    .sort(comparator(keys))
    .map(({ hit }) => hit);
}

/** The place of the first document whose id is above `after`, where ids ascend. */
function firstAfter(ids: Float64Array, count: number, after: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ids[middle]! <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first `count` matches with an id above `after`, by id: a page of a scroll. Reads a segment only as far as needed. */
export function matchesAfter(
  readers: readonly IndexReader[],
  matches: readonly Bitset[],
  after: number,
  count: number,
): Hit[] {
  const found: Hit[] = [];
  readers.forEach((reader, r) => {
    const { ids, idsAscending, docCount } = reader;
    const set = matches[r]!;
    let hits = 0;
    let doc = set.next(idsAscending ? firstAfter(ids, docCount, after) : 0);
    for (; doc !== -1 && (!idsAscending || hits < count); doc = set.next(doc + 1)) {
      if (ids[doc]! <= after) continue;
      found.push({ id: ids[doc]!, score: 0, reader: r, doc });
      hits++;
    }
  });
  return found.sort((x, y) => x.id - y.id).slice(0, count);
}

/** The first `count` of many in the given order, keeping at most twice as many at a time. */
export class Firsts<T> {
  readonly #count: number;
  readonly #order: (x: T, y: T) => number;
  #candidates: T[] = [];
  #worst: T | undefined;

  constructor(count: number, order: (x: T, y: T) => number) {
    this.#count = count;
    this.#order = order;
  }

  offer(value: T): void {
    if (this.#worst !== undefined && this.#order(value, this.#worst) > 0) return;
    this.#candidates.push(value);
    if (this.#candidates.length < Math.max(2 * this.#count, 1024)) return;
    this.#candidates = this.finish();
    this.#worst = this.#candidates.at(-1);
  }

  finish(): T[] {
    return this.#candidates.sort(this.#order).slice(0, this.#count);
  }
}

/** A number by which the matches of one part can be ordered, greatest first, ties by id; undefined if there is none. */
function rankBy(reader: IndexReader, keys: readonly SortKey[]): ((doc: number) => number) | undefined {
  const key = keys[0];
  // Without a retriever no match has a score.
  if (key === undefined || (key.field === "_score" && keys.length === 1)) return () => 0;
  const sign = key.order === "asc" ? -1 : 1;
  if (key.field === "_id") return (doc) => sign * reader.ids[doc]!;
  if (key.field === "_score" || keys.length > 1) return undefined;
  const strings = reader.strings(key.field.name);
  // In a segment the ordinals follow the terms; in a tail they do not.
  if (strings !== undefined && !reader.idsAscending) return undefined;
  const column = strings?.column ?? reader.numbers(key.field.name)?.column;
  if (column === undefined) return () => Number.NEGATIVE_INFINITY;
  const { starts, values } = column;
  return (doc) => {
    let best = Number.NEGATIVE_INFINITY;
    for (let i = starts[doc]!; i < starts[doc + 1]!; i++) best = Math.max(best, sign * values[i]!);
    return best;
  };
}

/** The first matches of one part: by a number where one will do, which makes no object for each match. */
function* firstOfPart(
  readers: readonly IndexReader[],
  r: number,
  keys: readonly SortKey[],
  set: Bitset,
  count: number,
): Steps<Hit[]> {
  const reader = readers[r]!;
  const { ids } = reader;
  let visited = 0;
  const rank = rankBy(reader, keys);
  if (rank !== undefined) {
    const enough = keys.length === 0 && reader.idsAscending ? count : Number.POSITIVE_INFINITY;
    const top = new TopK(Math.min(count, reader.docCount));
    for (let doc = set.next(0); doc !== -1 && visited < enough; doc = set.next(doc + 1)) {
      top.offer(rank(doc), ids[doc]!, r, doc);
      if (++visited % stepDocs === 0) yield;
    }
    return top.hits().map((hit) => ({ ...hit, score: 0 }));
  }
  const firsts = new Firsts(count, comparator<Hit>(keys));
  for (let doc = set.next(0); doc !== -1; doc = set.next(doc + 1)) {
    firsts.offer(keyed(readers, keys, { id: ids[doc]!, score: 0, reader: r, doc }));
    if (++visited % stepDocs === 0) yield;
  }
  return firsts.finish().map(({ hit }) => hit);
}

/** The first `count` of all matches, given per part, by the given keys, or by id without any. Their score is 0. */
export function sortMatches(
  readers: readonly IndexReader[],
  keys: readonly SortKey[],
  matches: readonly Bitset[],
  count: number,
): Hit[] {
  return runSteps(sortMatchesSteps(readers, keys, matches, count));
}

export function* sortMatchesSteps(
  readers: readonly IndexReader[],
  keys: readonly SortKey[],
  matches: readonly Bitset[],
  count: number,
): Steps<Hit[]> {
  const found: Hit[][] = [];
  for (const r of readers.keys()) {
    found.push(yield* firstOfPart(readers, r, keys, matches[r]!, count));
    yield;
  }
  return sortHits(readers, keys, found.flat()).slice(0, count);
}
