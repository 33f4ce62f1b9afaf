import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSchema } from "../../schema/schema-parse.ts";
import { extract } from "../document.ts";
import { openSegment, SegmentReader } from "../index/segment.ts";
import { buildSegment } from "../index/segment-writer.ts";
import { cacheKeyOf } from "./cache-key.ts";
import { evaluateFilter } from "./evaluate.ts";
import type { Filter } from "./filter.ts";
import { parseFilter } from "./parse.ts";

const schema = parseSchema({
  fields: [
    { name: "n", kind: "i64" },
    { name: "k", kind: "keyword" },
    { name: "t", kind: "text" },
  ],
});
const documents = Array.from({ length: 100 }, (_, id) => {
  const source = { n: id, k: `k${id % 5}`, t: id % 3 === 0 ? "red fish" : "blue fish" };
  return { id, version: 1, document: extract(schema, source, {}) };
});
const segment = openSegment(buildSegment(schema, documents));
const filters = [
  { range: { n: { gte: 10, lt: 60 } } },
  { term: { k: "k2" } },
  { match: { t: "red fish" } },
  { wildcard: { k: "k?" } },
  { and: [{ range: { n: { lt: 50 } } }, { not: { term: { k: "k0" } } }] },
].map((filter): Filter => parseFilter(filter, schema, "filter"));
filters.push({ kind: "ids", ids: [1, 2, 3] });

for (const filter of filters) {
  test(`${filter.kind}: what was kept is what is found, before and after deletes`, () => {
    const reader = new SegmentReader(segment);
    // A segment of its own has nothing kept.
    const plain = () => [...evaluateFilter(filter, withDeletes(reader)).toArray()];
    const first = evaluateFilter(filter, reader);
    assert.deepEqual([...first.toArray()], plain());
    first.fill();
    assert.deepEqual([...evaluateFilter(filter, reader).toArray()], plain(), "a result is the caller's own");
    for (const id of [2, 12, 15]) reader.delete(id);
    assert.deepEqual([...evaluateFilter(filter, reader).toArray()], plain());
  });
}

function withDeletes({ deletes }: SegmentReader): SegmentReader {
  return new SegmentReader(openSegment(buildSegment(schema, documents)), deletes.snapshot());
}

test("filters by id, of everything, and those that are long are not kept", () => {
  const many = Array.from({ length: 100 }, (_, i) => `k${i}`);
  const refused: readonly Filter[] = [
    { kind: "ids", ids: [1] },
    { kind: "all" },
    { kind: "not", filter: { kind: "ids", ids: [1] } },
    { kind: "terms", field: "k", values: many },
    { kind: "prefix", field: "k", prefix: "x".repeat(5_000) },
  ];
  for (const filter of refused) assert.equal(cacheKeyOf(filter), undefined);
  assert.notEqual(cacheKeyOf({ kind: "prefix", field: "k", prefix: "x" }), undefined);
});

test("what is kept is bounded by its bytes, keys and all", () => {
  const { filterCache } = openSegment(buildSegment(schema, documents.slice(0, 20)));
  const found = evaluateFilter({ kind: "all" }, new SegmentReader(segment));
  const keyOf = (i: number) => `${i}`.padEnd(2_000);
  for (let i = 0; i < 1_000; i++) filterCache.keep(keyOf(i), found);
  assert.equal(filterCache.find(keyOf(0)), undefined);
  assert.equal(filterCache.find(keyOf(999)), found);
});
