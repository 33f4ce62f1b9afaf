import { findField, isNumeric, type Schema } from "../../schema/schema.ts";
import { runSteps, type Steps } from "../../turns.ts";
import type { ExtractedDocument } from "../document.ts";
import { Bitset } from "../index/bitset.ts";
import { endOfPostings } from "../index/postings.ts";
import {
  type IndexReader,
  inNumberRange,
  type NumberColumn,
  type NumberRange,
  type OrdinalColumn,
  type TermDictionary,
  type TermRange,
  type TextIndex,
} from "../index/reader.ts";
import { TailIndex } from "../index/tail.ts";
import { findPhrase, forEachShared } from "../text/phrase.ts";
import { analyzePhrase } from "../text/query.ts";
import { cacheKeyOf } from "./cache-key.ts";
import type { Filter, FilterValue } from "./filter.ts";
import { wildcardMatcher } from "./wildcard.ts";

/** The live documents of one part that a filter matches, through postings and columns. */
export function evaluateFilter(filter: Filter, reader: IndexReader): Bitset {
  return runSteps(evaluateFilterSteps(filter, reader));
}

/** The same with pauses where a filter has many clauses, or much to look through. */
export function* evaluateFilterSteps(filter: Filter, reader: IndexReader): Steps<Bitset> {
  const found = yield* evaluateCached(filter, reader);
  return reader.live === undefined ? found : found.and(reader.live);
}

function* evaluateCached(filter: Filter, reader: IndexReader): Steps<Bitset> {
  const cache = reader.filterCache;
  const key = cache && cacheKeyOf(filter);
  if (cache === undefined || key === undefined) return yield* evaluate(filter, reader);
  const known = cache.find(key);
  if (known !== undefined) return known.clone();
  const found = yield* evaluate(filter, reader);
  cache.keep(key, found);
  return found.clone();
}

/** Live documents that match, over all parts. */
export function countMatches(filter: Filter, readers: readonly IndexReader[]): number {
  return runSteps(countMatchesSteps(filter, readers));
}

export function* countMatchesSteps(filter: Filter, readers: readonly IndexReader[]): Steps<number> {
  let total = 0;
  for (const reader of readers) {
    total += filter.kind === "all" ? reader.liveCount : (yield* evaluateFilterSteps(filter, reader)).count();
  }
  return total;
}

/** Whether one document matches, wherever it is stored: for conditional writes. */
export function matchesDocument(filter: Filter, schema: Schema, id: number, document: ExtractedDocument): boolean {
  const alone = new TailIndex(schema);
  alone.add(id, 0, document);
  return evaluateFilter(filter, alone).has(0);
}

/** Clauses of a list that are evaluated without a pause between them. */
const clausesAtOnce = 8;

/** Dead documents may be in the result; the caller takes them out once, at the end. The result is the caller's own. */
function* evaluate(filter: Filter, reader: IndexReader): Steps<Bitset> {
  switch (filter.kind) {
    case "all":
      return Bitset.full(reader.docCount);
    case "and": {
      const found = Bitset.full(reader.docCount);
      for (const [i, child] of filter.filters.entries()) {
        if (i >= clausesAtOnce) yield;
        found.and(yield* evaluate(child, reader));
      }
      return found;
    }
    case "or": {
      const found = new Bitset(reader.docCount);
      for (const [i, child] of filter.filters.entries()) {
        if (i >= clausesAtOnce) yield;
        found.or(yield* evaluate(child, reader));
      }
      return found;
    }
    case "not":
      return (yield* evaluate(filter.filter, reader)).invert();
    case "wildcard":
      return yield* byPattern(reader, filter.field, filter.pattern, filter.first);
    case "match":
    case "phrase":
      return yield* byText(reader, filter.field, filter.text, filter.kind === "phrase");
    default:
      return evaluateLeaf(filter, reader);
  }
}

type Leaf = Exclude<Filter, { readonly kind: "all" | "and" | "or" | "not" | "wildcard" | "match" | "phrase" }>;

function evaluateLeaf(filter: Leaf, reader: IndexReader): Bitset {
  switch (filter.kind) {
    case "ids": {
      const found = new Bitset(reader.docCount);
      if (filter.ids instanceof Float64Array && reader.idsAscending) {
        addSorted(filter.ids, reader, found);
        return found;
      }
      for (const id of filter.ids) {
        const doc = reader.find(id);
        if (doc !== -1) found.add(doc);
      }
      return found;
    }
    case "exists":
      return reader.present(filter.field)?.clone() ?? new Bitset(reader.docCount);
    case "terms":
      return byValues(reader, filter.field, filter.values, filter.first);
    case "range": {
      const { field, first } = filter;
      const numbers = reader.numbers(field);
      if (numbers === undefined) {
        return byTerms(reader, field, (terms) => terms.ordinalsInRange(filter.range as TermRange), first);
      }
      const found = new Bitset(reader.docCount);
      const range = filter.range as NumberRange;
      numbers.addRange(range, found);
      if (first) keepFirst(numbers.column, found, (value) => inNumberRange(value, range));
      return found;
    }
    case "prefix":
      return byTerms(reader, filter.field, (terms) => terms.ordinalsWithPrefix(filter.prefix), filter.first);
  }
}

/** UTF-16 units of terms that are held against a pattern without a pause. */
const patternStepUnits = 65_536;

function* byPattern(reader: IndexReader, name: string, pattern: string, first = false): Steps<Bitset> {
  const { prefix, matches } = wildcardMatcher(pattern);
  const terms = stringsOf(reader, name) ?? reader.text(name);
  const matching: number[] = [];
  let units = 0;
  for (const ordinal of terms?.ordinalsWithPrefix(prefix) ?? []) {
    const term = terms!.term(ordinal);
    if (matches(term)) matching.push(ordinal);
    units += term.length + 1;
    if (units < patternStepUnits) continue;
    units = 0;
    yield;
  }
  return byTerms(reader, name, () => matching, first);
}

/** Both in ascending order: one pass over the shorter stretch of them, and no search for each id. */
function addSorted(wanted: Float64Array, { ids, docCount }: IndexReader, into: Bitset): void {
  let doc = 0;
  for (const id of wanted) {
    while (doc < docCount && ids[doc]! < id) doc++;
    if (doc === docCount) return;
    if (ids[doc] === id) into.add(doc);
  }
}

/** The whole strings of a keyword field; a text field's belong to its column alone. */
function stringsOf(reader: IndexReader, name: string) {
  return findField(reader.schema, name)?.kind.kind === "keyword" ? reader.strings(name) : undefined;
}

function addTextDocs(text: TextIndex, ordinal: number, into: Bitset): void {
  const cursor = text.cursor(ordinal);
  while (cursor.next() !== endOfPostings) into.add(cursor.doc);
}

function byTerms(
  reader: IndexReader,
  name: string,
  choose: (terms: TermDictionary) => number[],
  first = false,
): Bitset {
  const found = new Bitset(reader.docCount);
  const strings = stringsOf(reader, name);
  if (strings !== undefined) {
    const ordinals = choose(strings);
    strings.addDocs(ordinals, found);
    if (first) {
      const wanted = new Set(ordinals);
      keepFirst(strings.column, found, (ordinal) => wanted.has(ordinal));
    }
    return found;
  }
  const text = reader.text(name);
  if (text !== undefined) for (const ordinal of choose(text)) addTextDocs(text, ordinal, found);
  return found;
}

/** Takes out the documents that only another value than their first was found by: a column has them in their order. */
function keepFirst(
  { starts, values }: OrdinalColumn | NumberColumn,
  found: Bitset,
  holds: (value: number) => boolean,
): void {
  for (let doc = found.next(0); doc !== -1; doc = found.next(doc + 1)) {
    const start = starts[doc]!;
    if (starts[doc + 1]! - start > 1 && !holds(values[start]!)) found.delete(doc);
  }
}

function byValues(reader: IndexReader, name: string, values: readonly FilterValue[], first = false): Bitset {
  const field = findField(reader.schema, name);
  if (field === undefined || !isNumeric(field.kind)) {
    const ordinalsOf = (terms: TermDictionary) =>
      [...new Set(values)].map((value) => terms.ordinal(String(value))).filter((ordinal) => ordinal !== -1);
    return byTerms(reader, name, ordinalsOf, first);
  }
  const found = new Bitset(reader.docCount);
  const numbers = reader.numbers(name);
  if (numbers === undefined) return found;
  // Where nothing is sorted each value would be a walk over the whole column: one walk for all of them then.
  if (values.length > 1 && numbers.sorted === undefined) addListed(numbers.column, new Set(values), found);
  else for (const value of values as readonly number[]) numbers.addRange({ gte: value, lte: value }, found);
  if (first) {
    const wanted = new Set<FilterValue>(values);
    keepFirst(numbers.column, found, (value) => wanted.has(value));
  }
  return found;
}

function addListed({ starts, values }: NumberColumn, wanted: ReadonlySet<FilterValue>, into: Bitset): void {
  for (let doc = 0; doc < into.size; doc++) {
    for (let i = starts[doc]!; i < starts[doc + 1]!; i++) if (wanted.has(values[i]!)) into.add(doc);
  }
}

function* byText(reader: IndexReader, name: string, words: string, phrase: boolean): Steps<Bitset> {
  const kind = findField(reader.schema, name)?.kind;
  if (kind?.kind !== "text") return byValues(reader, name, [words]);
  const found = new Bitset(reader.docCount);
  const text = reader.text(name);
  const { terms, offsets } = analyzePhrase(kind.analyzer, words);
  if (text === undefined || terms.length === 0) return found;
  if (phrase) {
    const { docs } = yield* findPhrase(text, terms, offsets, found.size, undefined);
    for (let i = 0; i < docs.length; i++) found.add(docs.data[i]!);
    return found;
  }
  const ordinals = [...new Set(terms)].map((term) => text.ordinal(term));
  if (ordinals.includes(-1)) return found;
  const cursors = ordinals
    .sort((x, y) => text.liveFrequency(x) - text.liveFrequency(y))
    .map((ordinal) => text.cursor(ordinal));
  yield* forEachShared(cursors, found.size, (doc) => {
    found.add(doc);
    return 1;
  });
  return found;
}
