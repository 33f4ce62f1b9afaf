import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findField } from "../../../src/engine/collection/schema.ts";
import { parseDate } from "../../../src/engine/search/date.ts";
import { parseSparseValue } from "../../../src/engine/search/document.ts";
import { facetOfHits, facetOfMatches } from "../../../src/engine/search/facets.ts";
import { countMatches, evaluateFilter } from "../../../src/engine/search/filter/evaluate.ts";
import { parseFilter } from "../../../src/engine/search/filter/parse.ts";
import { groupHits } from "../../../src/engine/search/group.ts";
import type { IndexReader } from "../../../src/engine/search/index/reader.ts";
import type { Hit } from "../../../src/engine/search/index/top-k.ts";
import { matchesAfter, sortMatches } from "../../../src/engine/search/sort.ts";
import { parseTextQuery } from "../../../src/engine/search/text/query.ts";
import { matchedClauses, searchText } from "../../../src/engine/search/text/search.ts";
import { searchVectors } from "../../../src/engine/search/vector/exact.ts";
import { searchSparse } from "../../../src/engine/search/vector/sparse.ts";
import {
  best,
  type Doc,
  fieldValues,
  Layout,
  type ModelHit,
  phraseCount,
  positionsOf,
  schema,
  TextModel,
} from "./model.ts";

const words = ["ant", "bee", "cat", "dog", "elk", "fox", "running", "the", "日", "Été", "😀x"];
const word = fc.constantFrom(...words);
const text = fc.array(word, { maxLength: 9 }).map((list) => list.join(" "));
const texts = fc.oneof(text, fc.array(text, { maxLength: 3 }));
const keyword = fc.constantFrom("red", "green", "blue", "re", "Rot", "\u{10000}", "\uffee");
const number = fc.integer({ min: -3, max: 3 });
const component = fc.integer({ min: -2, max: 2 }).map((value) => value / 4);
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 3 });
const oneOrMore = <T>(values: fc.Arbitrary<T>) => fc.oneof(values, fc.array(values, { maxLength: 3 }));

const doc: fc.Arbitrary<Doc> = fc
  .record({
    body: optional(texts),
    note: optional(text),
    tag: optional(oneOrMore(keyword)),
    cat: optional(keyword),
    plain: optional(oneOrMore(keyword)),
    n: optional(oneOrMore(number)),
    x: optional(oneOrMore(component)),
    flag: optional(fc.boolean()),
    at: optional(fc.constantFrom("2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00", 1_700_000_000_000)),
    c: optional(fc.array(component, { minLength: 3, maxLength: 3 })),
    d: optional(fc.array(component, { minLength: 2, maxLength: 2 })),
    l: optional(fc.array(component, { minLength: 6, maxLength: 6 })),
    s: optional(fc.uniqueArray(fc.nat(6), { maxLength: 4 })),
  })
  .map(({ cat, c, d, l, s, ...source }) => ({
    source: { ...source, meta: [{ cat }, { other: 1 }] },
    vectors: Object.fromEntries(
      Object.entries({ c, d, l }).filter(([, value]) => value !== undefined),
    ) as Doc["vectors"],
    sparse: s === undefined ? {} : { s: { indices: s, values: s.map((index) => (index % 3) - 1.5) } },
  }));

const id = fc.nat(25);
const step = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant("upsert" as const), id, doc) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("delete" as const), id) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("seal" as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("merge" as const), fc.nat(3), fc.integer({ min: 1, max: 3 })) },
);

const leaf: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.constant({ match_all: {} }),
  fc.tuple(fc.constantFrom("tag", "cat", "plain"), keyword).map(([field, value]) => ({ term: { [field]: value } })),
  fc.tuple(fc.constantFrom("tag", "cat"), fc.array(keyword, { maxLength: 3 })).map(([f, v]) => ({ terms: { [f]: v } })),
  number.map((value) => ({ term: { n: value } })),
  fc.boolean().map((value) => ({ term: { flag: value } })),
  fc
    .tuple(fc.constantFrom("gt", "gte"), number, fc.constantFrom("lt", "lte"), number)
    .map(([a, x, b, y]) => ({ range: { n: { [a]: x, [b]: y } } })),
  fc.tuple(fc.constantFrom("gt", "gte", "lt", "lte"), component).map(([a, x]) => ({ range: { x: { [a]: x } } })),
  fc
    .tuple(fc.constantFrom("gt", "gte", "lt", "lte"), keyword, fc.constantFrom("tag", "cat"))
    .map(([a, x, f]) => ({ range: { [f]: { [a]: x } } })),
  fc.constant({ range: { at: { gte: "2024-01-01T00:00:00Z" } } }),
  fc.constantFrom("body", "tag", "n", "flag", "at", "x").map((field) => ({ exists: { field } })),
  fc
    .tuple(fc.constantFrom("tag", "cat", "plain"), fc.constantFrom("re", "r", "", "\u{10000}"))
    .map(([f, v]) => ({ prefix: { [f]: v } })),
  fc
    .tuple(fc.constantFrom("tag", "body"), fc.constantFrom("*e*", "r?d", "b*", "?", "*", "re"))
    .map(([f, v]) => ({ wildcard: { [f]: v } })),
  fc.array(id, { maxLength: 4 }).map((values) => ({ ids: { values } })),
  fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => ({ match: { body: list.join(" ") } })),
  fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => ({ phrase: { body: list.join(" ") } })),
);

const { filter } = fc.letrec<{ filter: Record<string, unknown> }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie("filter"), { maxLength: 3 }).map((list) => ({ and: list })),
    fc.array(tie("filter"), { maxLength: 3 }).map((list) => ({ or: list })),
    tie("filter").map((inner) => ({ not: inner })),
    fc
      .tuple(fc.array(tie("filter"), { maxLength: 2 }), fc.array(tie("filter"), { maxLength: 2 }))
      .map(([must, mustNot]) => ({ bool: { must, must_not: mustNot } })),
    fc.array(tie("filter"), { minLength: 1, maxLength: 2 }).map((should) => ({ bool: { should } })),
  ),
}));

function wildcard(pattern: string, value: string): boolean {
  return new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`, "su").test(value);
}

const byCodePoint = (x: string, y: string) => Buffer.compare(Buffer.from(x), Buffer.from(y));

function inRange(field: string, value: unknown, range: Record<string, unknown>): boolean {
  const kind = findField(schema, field)!.kind.kind;
  const order = (bound: unknown) => {
    if (kind === "keyword") return byCodePoint(value as string, bound as string);
    return kind === "date" ? parseDate(value)! - parseDate(bound)! : (value as number) - (bound as number);
  };
  return Object.entries(range).every(([op, bound]) => {
    const sign = order(bound);
    return op === "gt" ? sign > 0 : op === "gte" ? sign >= 0 : op === "lt" ? sign < 0 : sign <= 0;
  });
}

/** The filter language on a plain document. */
function matches(given: Record<string, unknown>, id: number, doc: Doc): boolean {
  const [kind, body] = Object.entries(given)[0]! as [string, never];
  const list = (value: unknown) => ((value ?? []) as Record<string, unknown>[]).map((entry) => matches(entry, id, doc));
  const [field, value] = (Object.entries(body)[0] ?? ["", undefined]) as [string, unknown];
  const terms = () => [...positionsOf(doc, "body").values()];
  switch (kind) {
    case "match_all":
      return true;
    case "and":
      return list(body).every(Boolean);
    case "or":
      return list(body).some(Boolean);
    case "not":
      return !matches(body, id, doc);
    case "bool": {
      const { must, should, must_not } = body as Record<string, unknown>;
      return (
        list(must).every(Boolean) &&
        (should === undefined || list(should).some(Boolean)) &&
        !list(must_not).some(Boolean)
      );
    }
    case "ids":
      return (value as number[]).includes(id);
    case "exists":
      return fieldValues(doc, value as string).length > 0;
    case "term":
      return fieldValues(doc, field).includes(value);
    case "terms":
      return fieldValues(doc, field).some((entry) => (value as unknown[]).includes(entry));
    case "range":
      return fieldValues(doc, field).some((entry) => inRange(field, entry, value as Record<string, unknown>));
    case "prefix":
      return fieldValues(doc, field).some((entry) => (entry as string).startsWith(value as string));
    case "wildcard":
      return (field === "body" ? terms() : (fieldValues(doc, field) as string[])).some((entry) =>
        wildcard(value as string, entry),
      );
    case "match":
      return (value as string).split(" ").every((wanted) => terms().includes(wanted.toLowerCase().replace("😀", "")));
    case "phrase": {
      const wanted = (value as string).split(" ").map((entry) => entry.toLowerCase().replace("😀", ""));
      return phraseCount(positionsOf(doc, "body"), wanted, [...wanted.keys()]) > 0;
    }
    default:
      throw new Error(kind);
  }
}

const plain = (hits: readonly Hit[]): ModelHit[] => hits.map(({ id, score }) => ({ id, score }));

function checkPlaces(readers: readonly IndexReader[], hits: readonly Hit[]): void {
  for (const hit of hits) assert.equal(readers[hit.reader]!.ids[hit.doc], hit.id);
}

function dot(x: readonly number[], y: readonly number[]): number {
  return x.reduce((sum, value, i) => sum + value * y[i]!, 0);
}

function vectorScore(name: string, x: readonly number[], y: readonly number[]): number {
  if (name === "d") return dot(x, y);
  if (name === "l") return 1 / (1 + x.reduce((sum, value, i) => sum + (value - y[i]!) ** 2, 0));
  const norm = Math.sqrt(dot(x, x) * dot(y, y));
  return norm === 0 ? 0 : dot(x, y) / norm;
}

/** The same documents at the same ranks, with scores that agree to rounding. */
function sameRanking(found: readonly ModelHit[], wanted: readonly ModelHit[]): void {
  assert.equal(found.length, wanted.length);
  const scores = new Map(wanted.map((hit) => [hit.id, hit.score]));
  found.forEach((hit, i) => {
    assert.ok(Math.abs(hit.score - wanted[i]!.score) < 1e-9);
    const own = scores.get(hit.id);
    assert.ok(own === undefined || Math.abs(own - hit.score) < 1e-9);
  });
}

const query = fc.record({
  words: fc.array(word, { minLength: 1, maxLength: 4 }),
  phrase: optional(fc.array(word, { minLength: 2, maxLength: 3 })),
  operator: fc.constantFrom("or" as const, "and" as const),
  k: fc.integer({ min: 1, max: 8 }),
  filter: optional(filter),
  vector: fc.array(component, { minLength: 6, maxLength: 6 }),
  sparse: fc.uniqueArray(fc.nat(6), { minLength: 1, maxLength: 4 }),
});

type Query = typeof query extends fc.Arbitrary<infer Q> ? Q : never;

function build(steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]): {
  docs: Map<number, Doc>;
  layout: Layout;
} {
  const docs = new Map<number, Doc>();
  const layout = new Layout();
  for (const entry of steps) {
    if (entry[0] === "upsert") {
      docs.set(entry[1], entry[2]);
      layout.upsert(entry[1], entry[2]);
    } else if (entry[0] === "delete") {
      docs.delete(entry[1]);
      layout.delete(entry[1]);
    } else if (entry[0] === "seal") layout.seal();
    else layout.merge(entry[1], entry[2]);
  }
  return { docs, layout };
}

const steps = fc.array(step, { minLength: 5, maxLength: 60 });
const bounds = { numRuns: 150, seed: 5, interruptAfterTimeLimit: 20_000 } as const;

/** All documents in one segment, to compare answers bit by bit. */
function oneSegment(docs: ReadonlyMap<number, Doc>): Layout {
  const layout = new Layout();
  for (const [id, doc] of docs) layout.upsert(id, doc);
  layout.seal();
  return layout;
}

test("filters find what a scan of the documents finds, in every layout", () => {
  fc.assert(
    fc.property(steps, fc.array(filter, { minLength: 1, maxLength: 8 }), (steps, filters) => {
      const { docs, layout } = build(steps);
      for (const given of filters) {
        const parsed = parseFilter(given, schema);
        const found = layout.readers.flatMap((reader) =>
          [...evaluateFilter(parsed, reader).toArray()].map((doc) => reader.ids[doc]!),
        );
        const wanted = [...docs].filter(([id, doc]) => matches(given, id, doc)).map(([id]) => id);
        assert.deepEqual(
          found.sort((x, y) => x - y),
          wanted.sort((x, y) => x - y),
          JSON.stringify(given),
        );
        assert.equal(countMatches(parsed, layout.readers), wanted.length);
      }
      for (const id of docs.keys()) assert.equal(layout.readers.filter((reader) => reader.find(id) !== -1).length, 1);
    }),
    bounds,
  );
});

function allowedBy(given: Query["filter"], docs: ReadonlyMap<number, Doc>): (id: number) => boolean {
  return (id) => given === undefined || matches(given, id, docs.get(id)!);
}

function filtersOf(given: Query["filter"], readers: readonly IndexReader[]) {
  if (given === undefined) return undefined;
  const parsed = parseFilter(given, schema);
  return readers.map((reader) => evaluateFilter(parsed, reader));
}

const fold = (word: string) => word.toLowerCase().replace("😀", "");

test("text search is BM25 over the live documents, in every layout", () => {
  fc.assert(
    fc.property(steps, fc.array(query, { minLength: 1, maxLength: 5 }), (steps, queries) => {
      const { docs, layout } = build(steps);
      const sealed = oneSegment(docs);
      const model = new TextModel(docs, "body");
      for (const { words, phrase, operator, k, filter } of queries) {
        const text = words.join(" ") + (phrase === undefined ? "" : ` "${phrase.join(" ")}"`);
        const parsed = parseTextQuery(schema, "body", text, operator);
        const clauses = [...new Set(words.map(fold))].map((term) => ({ terms: [term], offsets: [0] }));
        if (phrase !== undefined) clauses.push({ terms: phrase.map(fold), offsets: [...phrase.keys()] });
        const wanted = best(model.search(clauses, operator, allowedBy(filter, docs)), k);
        const found = searchText(layout.readers, parsed, k, filtersOf(filter, layout.readers));
        assert.deepEqual(plain(found), wanted);
        checkPlaces(layout.readers, found);
        assert.deepEqual(plain(searchText(sealed.readers, parsed, k, filtersOf(filter, sealed.readers))), wanted);
        for (const hit of found) {
          assert.ok(matchedClauses(layout.readers[hit.reader]!, hit.doc, parsed).length > 0);
        }
      }
    }),
    bounds,
  );
});

test("exact vector and sparse search agree with brute force, in every layout", () => {
  fc.assert(
    fc.property(steps, fc.array(query, { minLength: 1, maxLength: 5 }), (steps, queries) => {
      const { docs, layout } = build(steps);
      const sealed = oneSegment(docs);
      for (const { vector, sparse, k, filter } of queries) {
        const allowed = allowedBy(filter, docs);
        const filters = filtersOf(filter, layout.readers);
        const sealedFilters = filtersOf(filter, sealed.readers);
        for (const { name, dim } of schema.vectors) {
          const asked = Float32Array.from(vector.slice(0, dim));
          const wanted: ModelHit[] = [];
          for (const [id, doc] of docs) {
            const own = doc.vectors[name];
            if (own !== undefined && allowed(id)) wanted.push({ id, score: vectorScore(name, [...asked], own) });
          }
          const found = searchVectors(layout.readers, name, asked, k, filters);
          sameRanking(plain(found), best(wanted, k));
          checkPlaces(layout.readers, found);
          assert.deepEqual(plain(found), plain(searchVectors(sealed.readers, name, asked, k, sealedFilters)));
        }
        const values = sparse.map((index) => index - 2.5);
        const asked = parseSparseValue("query", { indices: sparse, values });
        const wanted: ModelHit[] = [];
        for (const [id, doc] of docs) {
          const own = doc.sparse["s"];
          const shared = own?.indices.filter((index) => sparse.includes(index)) ?? [];
          if (own === undefined || shared.length === 0 || !allowed(id)) continue;
          const score = shared.reduce((sum, index) => sum + own.values[own.indices.indexOf(index)]! * (index - 2.5), 0);
          wanted.push({ id, score });
        }
        const found = searchSparse(layout.readers, "s", asked, k, filters);
        assert.deepEqual(plain(found), best(wanted, k));
      }
    }),
    bounds,
  );
});

test("facets, groups and sorting agree with brute force, in every layout", () => {
  fc.assert(
    fc.property(steps, filter, fc.constantFrom("tag", "cat", "n", "flag", "at"), (steps, given, name) => {
      const { docs, layout } = build(steps);
      const field = findField(schema, name)!;
      const { readers } = layout;
      const parsed = parseFilter(given, schema);
      const found = readers.map((reader) => evaluateFilter(parsed, reader));
      const shown = (value: unknown) => (name === "at" ? new Date(parseDate(value)!).toISOString() : value);
      const stored = (doc: Doc) => [...new Set(fieldValues(doc, name).map(shown))];
      const matching = [...docs].filter(([id, doc]) => matches(given, id, doc)).sort(([x], [y]) => x - y);

      const counts = new Map<unknown, number>();
      for (const [, doc] of matching) for (const value of stored(doc)) counts.set(value, (counts.get(value) ?? 0) + 1);
      const facets = facetOfMatches(readers, field, found, 100);
      assert.deepEqual(new Map(facets.map(({ value, count }) => [value, count])), counts);
      assert.deepEqual(
        facets.map(({ count }) => count),
        [...counts.values()].sort((x, y) => y - x),
      );

      const byId = sortMatches(readers, [], found, 1000);
      assert.deepEqual(
        byId.map((hit) => hit.id),
        matching.map(([id]) => id),
      );
      assert.deepEqual(facetOfHits(readers, field, byId, 100), facets);

      const paged: number[] = [];
      for (let after = -1; ; after = paged.at(-1)!) {
        const page = matchesAfter(readers, found, after, 3);
        paged.push(...page.map((hit) => hit.id));
        if (page.length < 3) break;
      }
      assert.deepEqual(
        paged,
        matching.map(([id]) => id),
      );

      const groups = groupHits(readers, field, byId, 2, 1000);
      const members = new Map<unknown, number[]>();
      for (const [id, doc] of matching)
        for (const value of stored(doc)) members.set(value, [...(members.get(value) ?? []), id]);
      assert.deepEqual(
        new Map(groups.map(({ key, hits }) => [key, hits.map((hit) => hit.id)])),
        new Map([...members].map(([key, ids]) => [key, ids.slice(0, 2)])),
      );

      for (const order of ["asc", "desc"] as const) {
        const least = (doc: Doc) => {
          const values = fieldValues(doc, name).map((value) => (name === "at" ? parseDate(value)! : value));
          const sorted = values.sort((x, y) =>
            typeof x === "string" ? byCodePoint(x, y as string) : Number(x) - Number(y),
          );
          return order === "asc" ? sorted[0] : sorted.at(-1);
        };
        const wanted = matching
          .map(([id, doc]) => ({ id, value: least(doc) }))
          .sort((x, y) => {
            if (x.value === undefined || y.value === undefined)
              return Number(x.value === undefined) - Number(y.value === undefined) || x.id - y.id;
            const sign =
              typeof x.value === "string" ? byCodePoint(x.value, y.value as string) : Number(x.value) - Number(y.value);
            return (order === "asc" ? sign : -sign) || x.id - y.id;
          });
        const sorted = sortMatches(readers, [{ field, order }], found, 1000);
        assert.deepEqual(
          sorted.map((hit) => hit.id),
          wanted.map(({ id }) => id),
        );
      }
    }),
    bounds,
  );
});
