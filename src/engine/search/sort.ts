import type { FieldSpec } from "../collection/schema.ts";
import type { Bitset } from "./index/bitset.ts";
import { compareTerms, type IndexReader } from "./index/reader.ts";
import type { Hit } from "./index/top-k.ts";

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

interface Keyed<H> {
  readonly hit: H;
  readonly values: readonly Value[];
}

function keyed<H extends Hit>(readers: readonly IndexReader[], keys: readonly SortKey[], hit: H): Keyed<H> {
  const values = keys.map(({ field, order }) => {
    if (field === "_id") return hit.id;
    if (field === "_score") return hit.score;
    return sortValue(readers[hit.reader]!, field.name, hit.doc, order);
  });
  return { hit, values };
}

function comparator<H extends Hit>(keys: readonly SortKey[]): (x: Keyed<H>, y: Keyed<H>) => number {
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
    let taken = 0;
    let doc = set.next(idsAscending ? firstAfter(ids, docCount, after) : 0);
    for (; doc !== -1 && (!idsAscending || taken < count); doc = set.next(doc + 1)) {
      if (ids[doc]! <= after) continue;
      found.push({ id: ids[doc]!, score: 0, reader: r, doc });
      taken++;
    }
  });
  return found.sort((x, y) => x.id - y.id).slice(0, count);
}

/**
 * The first `count` of all matches, given per part, by the given keys, or by id without any. Keeps at most twice as
 * many as asked for at a time.
 */
export function sortMatches(
  readers: readonly IndexReader[],
  keys: readonly SortKey[],
  matches: readonly Bitset[],
  count: number,
): Hit[] {
  const first = keys[0];
  if (first === undefined) return matchesAfter(readers, matches, -1, count);
  const order = comparator<Hit>(keys);
  let kept: Keyed<Hit>[] = [];
  let worst: Keyed<Hit> | undefined;
  readers.forEach((reader, r) => {
    const { ids } = reader;
    const set = matches[r]!;
    for (let doc = set.next(0); doc !== -1; doc = set.next(doc + 1)) {
      // Most documents fall behind by their first key, before anything is made for them.
      if (worst !== undefined && typeof first.field === "object") {
        const value = sortValue(reader, first.field.name, doc, first.order);
        if (compareValues(value, worst.values[0], first.order) > 0) continue;
      }
      const hit = keyed(readers, keys, { id: ids[doc]!, score: 0, reader: r, doc });
      if (worst !== undefined && order(hit, worst) > 0) continue;
      kept.push(hit);
      if (kept.length < Math.max(2 * count, 1024)) continue;
      kept = kept.sort(order).slice(0, count);
      worst = kept.at(-1);
    }
  });
  return kept
    .sort(order)
    .slice(0, count)
    .map(({ hit }) => hit);
}
