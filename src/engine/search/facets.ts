import type { FieldSpec } from "../schema/schema.ts";
import { runSteps, type Steps } from "../turns.ts";
import type { Bitset } from "./index/bitset.ts";
import {
  compareTerms,
  type IndexReader,
  type NumberIndex,
  type SortedNumbers,
  type StringIndex,
} from "./index/reader.ts";
import type { Hit } from "./index/top-k.ts";
import { stepDocs } from "./limits.ts";
import { Firsts } from "./sort.ts";
import { type ClientValue, clientValue, valuesOf } from "./values.ts";

export interface FacetCount {
  readonly value: ClientValue;
  readonly count: number;
}

type Counts = Map<string | number, number>;

function add(counts: Counts, value: string | number, more: number): void {
  counts.set(value, (counts.get(value) ?? 0) + more);
}

function compareValues(x: string | number, y: string | number): number {
  return typeof x === "string" && typeof y === "string" ? compareTerms(x, y) : Number(x) - Number(y);
}

/** Most frequent first, then by value. */
function finish(field: FieldSpec, counts: Counts, limit: number): FacetCount[] {
  const firsts = new Firsts<[string | number, number]>(limit, ([x, m], [y, n]) => n - m || compareValues(x, y));
  for (const entry of counts) firsts.offer(entry);
  return firsts.finish().map(([value, count]) => ({ value: clientValue(field, value), count }));
}

/** Counts a field's values over found documents; a document counts once for each of its distinct values. */
export function facetOfHits(
  readers: readonly IndexReader[],
  field: FieldSpec,
  hits: Iterable<Pick<Hit, "reader" | "doc">>,
  limit: number,
): FacetCount[] {
  const counts: Counts = new Map();
  for (const { reader, doc } of hits) {
    for (const value of valuesOf(readers[reader]!, field.name, doc)) add(counts, value, 1);
  }
  return finish(field, counts, limit);
}

/** Counts by ordinal first, so that a term's string is made once and not once per document. */
function* countStrings(strings: StringIndex, matches: Bitset, counts: Counts): Steps<void> {
  const { starts, values } = strings.column;
  const byOrdinal = new Uint32Array(strings.termCount);
  let visited = 0;
  for (let doc = matches.next(0); doc !== -1; doc = matches.next(doc + 1)) {
    for (let i = starts[doc]!; i < starts[doc + 1]!; i++) byOrdinal[values[i]!]!++;
    if (++visited % stepDocs === 0) yield;
  }
  for (let ordinal = 0; ordinal < byOrdinal.length; ordinal++) {
    if (byOrdinal[ordinal]! > 0) add(counts, strings.term(ordinal), byOrdinal[ordinal]!);
    if (ordinal % stepDocs === stepDocs - 1) yield;
  }
}

function* countNumbers(numbers: NumberIndex, matches: Bitset, counts: Counts): Steps<void> {
  const { starts, values } = numbers.column;
  let visited = 0;
  for (let doc = matches.next(0); doc !== -1; doc = matches.next(doc + 1)) {
    const from = starts[doc]!;
    const to = starts[doc + 1]!;
    if (to - from === 1) add(counts, values[from]!, 1);
    else for (const value of new Set(values.subarray(from, to))) add(counts, value, 1);
    if (++visited % stepDocs === 0) yield;
  }
}

/** Value by value, which looks each of them up once and not once per document. */
function* countSorted({ values, starts, docs }: SortedNumbers, matches: Bitset, counts: Counts): Steps<void> {
  let visited = 0;
  for (let v = 0; v < values.length; v++) {
    let count = 0;
    let last = -1;
    for (let i = starts[v]!; i < starts[v + 1]!; i++) {
      const doc = docs[i]!;
      if (doc !== last && matches.has(doc)) count++;
      last = doc;
    }
    if (count > 0) add(counts, values[v]!, count);
    visited += starts[v + 1]! - starts[v]!;
    if (visited < stepDocs) continue;
    visited = 0;
    yield;
  }
}

/** Counts a field's values over all matches, given per part. */
export function facetOfMatches(
  readers: readonly IndexReader[],
  field: FieldSpec,
  matches: readonly Bitset[],
  limit: number,
): FacetCount[] {
  return runSteps(facetOfMatchesSteps(readers, field, matches, limit));
}

export function* facetOfMatchesSteps(
  readers: readonly IndexReader[],
  field: FieldSpec,
  matches: readonly Bitset[],
  limit: number,
): Steps<FacetCount[]> {
  const counts: Counts = new Map();
  for (const [r, reader] of readers.entries()) {
    const strings = reader.strings(field.name);
    const numbers = reader.numbers(field.name);
    if (strings !== undefined) yield* countStrings(strings, matches[r]!, counts);
    else if (numbers?.sorted !== undefined && matches[r]!.count() * 4 > numbers.sorted.docs.length) {
      yield* countSorted(numbers.sorted, matches[r]!, counts);
    } else if (numbers !== undefined) yield* countNumbers(numbers, matches[r]!, counts);
    yield;
  }
  return finish(field, counts, limit);
}
