import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseDate } from "../../../src/engine/schema/date.ts";
import { findField } from "../../../src/engine/schema/schema.ts";
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
  bounds,
  build,
  byCodePoint,
  component,
  filter,
  fold,
  matches,
  oneSegment,
  optional,
  steps,
  word,
} from "./arbitraries.ts";
import { best, type Doc, fieldValues, type ModelHit, schema, TextModel } from "./model.ts";

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
