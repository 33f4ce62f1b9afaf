import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSchema } from "../schema/schema-parse.ts";
import { Extractor } from "../search/document.ts";
import { TailIndex } from "../search/index/tail.ts";
import { runSteps } from "../turns.ts";
import { executeQuery } from "./execute.ts";
import type { RankedHit } from "./outcome.ts";
import { parseQuery } from "./parse.ts";
import { buildResult, type LoadedDocument, type QueryResult, type Row } from "./result.ts";

const schema = parseSchema({
  fields: [
    { name: "title", kind: { text: { analyzer: "english" } } },
    { name: "tag", kind: "keyword", fast: true },
    { name: "city", source_path: "address.city", kind: "keyword" },
    { name: "price", source_path: "offers.price", kind: "f64" },
    { name: "a.b", kind: "i64" },
    { name: "day", kind: "date" },
    { name: "raw", source_path: "extra", kind: "json" },
  ],
  vectors: [{ name: "v", dim: 2, distance: "dot" }],
  sparse_vectors: [{ name: "s" }],
});

const sources = [
  {
    title: "Running with the red foxes",
    tag: ["x", "y"],
    address: { city: "Rome", zip: 1 },
    offers: [{ price: 1.5 }, { price: 2, note: "b" }, {}],
    "a.b": 3,
    day: "2024-02-03T04:05:06+01:00",
    extra: { deep: [1, { two: 2 }] },
    unknown: true,
  },
  { title: ["A fox", "and the runner"], tag: "x", address: [{ city: "Oslo" }], a: { b: 4 }, day: null },
  { tag: "y" },
];
const vectors = [[1, 2], [3, 4], undefined];
const sparse = { indices: [7], values: [0.5] };

const tail = new TailIndex(schema);
const extractor = new Extractor(schema);
sources.forEach((source, id) => {
  const vector = vectors[id];
  tail.add(id, id + 10, extractor.extract(source, vector && { v: vector }, id === 0 ? { s: sparse } : undefined));
});

const stored = (hit: RankedHit): LoadedDocument | undefined => {
  const vector = vectors[hit.id];
  return {
    source: hit.id === 1 ? sources[1]! : JSON.stringify(sources[hit.id]),
    ...(vector === undefined ? {} : { vectors: new Map([["v", Float32Array.from(vector)]]) }),
    ...(hit.id === 0 ? { sparseVectors: new Map([["s", sparse]]) } : {}),
  };
};

function ask(body: object, load = stored): QueryResult {
  const plan = parseQuery({ from: "c", ...body }, () => schema);
  const outcome = executeQuery(plan, { readers: [tail], steadyMs: () => 0 });
  return runSteps(
    buildResult(plan, structuredClone(outcome), load, [{ stream: 1, partition: 0, offset: 2 }], () => 1.5),
  );
}

const rowsOf = (body: object): readonly Row[] => ask(body).rows!;
const foxes = { retrieve: [{ text: { field: "title", query: "fox running", k: 5 } }] };

test("rows show the schema's fields as they stand in the source", () => {
  assert.deepEqual(ask({}), {
    rows: [
      {
        _id: 0,
        _score: 0,
        title: "Running with the red foxes",
        tag: ["x", "y"],
        city: "Rome",
        price: [1.5, 2],
        "a.b": 3,
        day: "2024-02-03T04:05:06+01:00",
        raw: { deep: [1, { two: 2 }] },
      },
      { _id: 1, _score: 0, title: ["A fox", "and the runner"], tag: "x", city: ["Oslo"], "a.b": 4, day: null },
      { _id: 2, _score: 0, tag: "y" },
    ],
    token: [{ stream: 1, partition: 0, offset: 2 }],
    took_ms: 1.5,
  });
});

test("select, exclude and include_vectors", () => {
  const limit = 1;
  assert.deepEqual(rowsOf({ limit, select: [] }), [{ _id: 0, _score: 0 }]);
  assert.deepEqual(rowsOf({ limit, select: ["city", "_id"] }), [{ _id: 0, _score: 0, city: "Rome" }]);
  assert.deepEqual(rowsOf({ limit, select: ["city", "tag"], exclude: ["city"] }), [
    { _id: 0, _score: 0, tag: ["x", "y"] },
  ]);
  assert.deepEqual(rowsOf({ select: [], include_vectors: true }), [
    { _id: 0, _score: 0, v: [1, 2], s: { indices: [7], values: [0.5] } },
    { _id: 1, _score: 0, v: [3, 4] },
    { _id: 2, _score: 0 },
  ]);
});

test("rows without a source to show do not read it", () => {
  const rows = ask({ select: ["v"] }, () => ({ source: "not read", vectors: new Map([["v", [1]]]) })).rows!;
  assert.deepEqual(rows[0], { _id: 0, _score: 0, v: [1] });
});

test("rows that would be too much to hold are refused, by what is shown of them", () => {
  const source = { title: "x".repeat(50_000_000), tag: "y" };
  const load = () => ({ source, characters: source.title.length + 30 });
  assert.throws(() => ask({}, load), { reason: "invalid_argument", details: { field: "limit" } });
  assert.equal(ask({ limit: 2 }, load).rows?.length, 2);
  assert.deepEqual(ask({ select: ["tag"] }, load).rows?.at(-1), { _id: 2, _score: 0, tag: "y" });
});

test("highlights mark the words that match, and no others", () => {
  const shown = (body: object) => rowsOf({ highlight: { fields: ["title"] }, select: [], ...body });
  const marks = shown(foxes).map((row) => [row["_id"], row["_highlights"]]);
  assert.deepEqual(marks, [
    [0, { title: ["<em>Running</em> with the red <em>foxes</em>"] }],
    [1, { title: ["A <em>fox</em>"] }],
  ]);
  const phrase = { retrieve: [{ text: { field: "title", query: '"red fox" running', k: 5 } }] };
  assert.deepEqual(shown(phrase)[0]!["_highlights"], {
    title: ["<em>Running</em> with the <em>red</em> <em>foxes</em>"],
  });
  const other = { retrieve: [{ text: { field: "title", query: '"fox red" running', k: 5 } }] };
  assert.deepEqual(shown(other)[0]!["_highlights"], { title: ["<em>Running</em> with the red foxes"] });
  assert.deepEqual(shown({ filter: { match: { title: "runner" } } })[0]!["_highlights"], {
    title: ["and the <em>runner</em>"],
  });
  assert.deepEqual(shown({ filter: { not: { match: { title: "fox" } } } })[0]!["_highlights"], {});
});

test("groups stand in place of rows, with facets beside them", () => {
  const { rows, groups, facets } = ask({
    group_by: { field: "tag", size: 1 },
    facets: [{ field: "tag" }, { field: "day" }],
    select: [],
  });
  assert.equal(rows, undefined);
  assert.deepEqual(groups, [
    { key: "x", rows: [{ _id: 0, _score: 0 }] },
    { key: "y", rows: [{ _id: 0, _score: 0 }] },
  ]);
  assert.deepEqual(facets, {
    tag: [
      { value: "x", count: 2 },
      { value: "y", count: 2 },
    ],
    day: [{ value: "2024-02-03T03:05:06.000Z", count: 1 }],
  });
});

test("explain describes each row and the query, in JSON", () => {
  const body = {
    ...foxes,
    retrieve: [...foxes.retrieve, { vector: { field: "v", query: [0, 1], k: 1 } }],
    filter: { exists: { field: "tag" } },
    sort: [{ field: "tag" }],
    select: [],
    explain: true,
  };
  const { rows, stats } = JSON.parse(JSON.stringify(ask(body)));
  assert.deepEqual(rows[0]._explain.retrievers, [
    { kind: "text", field: "title", rank: 1, score: rows[0]._explain.retrievers[0].score, terms: ["fox", "run"] },
    { kind: "vector", field: "v", rank: null, score: null },
  ]);
  assert.deepEqual(rows[1]._explain.retrievers[1], { kind: "vector", field: "v", rank: 1, score: 4 });
  assert.equal(stats.segments, 0);
  assert.equal(stats.tail_documents, 3);
  assert.deepEqual(stats.retrieved, [2, 1]);
  assert.equal(stats.candidates, 2);
  assert.deepEqual(Object.keys(stats.times_ms), [
    "statistics",
    "filters",
    "retrievers",
    "ranking",
    "facets",
    "explain",
  ]);
  assert.equal(stats.plan.fusion.k, 60);
  assert.equal(stats.plan.retrievers[0].operator, "or");
  assert.equal(stats.plan.retrievers[1].dim, 2);
});

test("hits carry the version that was found, and a document that is gone has no row", () => {
  const versions: number[] = [];
  const { rows } = ask({}, (hit) => {
    versions.push(hit.version);
    return hit.id === 1 ? undefined : stored(hit);
  });
  assert.deepEqual(versions, [10, 11, 12]);
  assert.deepEqual(
    rows!.map((row) => row["_id"]),
    [0, 2],
  );
});
