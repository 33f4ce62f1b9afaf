import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../errors.ts";
import { parseDate } from "../schema/date.ts";
import { parseSchema } from "../schema/schema-parse.ts";
import { extract } from "./document.ts";

const schema = parseSchema({
  fields: [
    { name: "k", kind: "keyword" },
    { name: "t", source_path: "a.b", kind: "text" },
    { name: "i", kind: "i64" },
    { name: "f", kind: "f64" },
    { name: "b", kind: "bool" },
    { name: "d", kind: "date" },
    { name: "j", kind: "json" },
  ],
  vectors: [{ name: "v", dim: 2 }],
  sparse_vectors: [{ name: "s" }],
});

test("values come out typed, through nested objects and arrays", () => {
  const source = {
    k: ["x", null, ["y"]],
    a: [{ b: "one" }, { b: ["two"] }, 5],
    i: -0,
    f: 1.5,
    b: true,
    d: "1970-01-01T00:00:01Z",
    j: { any: [] },
  };
  const { values, vectors, sparse } = extract(
    schema,
    source,
    { v: [1, 2] },
    { s: { indices: [7, 3], values: [1, 2] } },
  );
  assert.deepEqual(values, [["x", "y"], ["one", "two"], [0], [1.5], [1], [1000], []]);
  assert.deepEqual(vectors, [Float32Array.of(1, 2)]);
  assert.deepEqual(sparse, [{ indices: Uint32Array.of(3, 7), values: Float32Array.of(2, 1) }]);
});

test("a key with a dot is found as written, and inherited members are not values", () => {
  assert.deepEqual(extract(schema, { "a.b": "dotted" }).values[1], ["dotted"]);
  const odd = parseSchema({
    fields: [
      { name: "constructor", kind: "keyword" },
      { name: "toString.name", kind: "keyword" },
    ],
  });
  assert.deepEqual(extract(odd, {}).values, [[], []]);
});

test("missing everything is fine", () => {
  assert.deepEqual(extract(schema, {}).values, [[], [], [], [], [], [], []]);
  assert.deepEqual(extract(schema, {}, { v: null }).vectors, [undefined]);
});

const wrong: [unknown, unknown, unknown, string][] = [
  ["text", {}, {}, "source"],
  [{ k: 1 }, {}, {}, "source.k"],
  [{ k: "x".repeat(40_000) }, {}, {}, "source.k"],
  [{ a: { b: {} } }, {}, {}, "source.a.b"],
  [{ i: 1.5 }, {}, {}, "source.i"],
  [{ i: 2 ** 53 }, {}, {}, "source.i"],
  [{ i: "1" }, {}, {}, "source.i"],
  [{ f: "1" }, {}, {}, "source.f"],
  [{ b: "true" }, {}, {}, "source.b"],
  [{ d: "yesterday" }, {}, {}, "source.d"],
  [{ d: 1.5 }, {}, {}, "source.d"],
  [{}, { v: [1] }, {}, "vectors.v"],
  [{}, { v: "1,2" }, {}, "vectors.v"],
  [{}, { v: [1, Number.NaN] }, {}, "vectors.v[1]"],
  [{}, { v: [1e39, 1] }, {}, "vectors.v[0]"],
  [{}, { w: [1, 2] }, {}, "vectors.w"],
  [{}, [], {}, "vectors"],
  [{}, {}, { s: [1] }, "sparse_vectors.s"],
  [{}, {}, { s: { indices: [1], values: [] } }, "sparse_vectors.s.values"],
  [{}, {}, { s: { indices: [1, 1], values: [1, 2] } }, "sparse_vectors.s.indices[1]"],
  [{}, {}, { s: { indices: [-1], values: [1] } }, "sparse_vectors.s.indices[0]"],
  [{}, {}, { s: { indices: [1], values: [Number.POSITIVE_INFINITY] } }, "sparse_vectors.s.values[0]"],
];
for (const [source, vectors, sparse, path] of wrong) {
  test(`${JSON.stringify([source, vectors, sparse]).slice(0, 60)} is refused at ${path}`, () => {
    assert.throws(
      () => extract(schema, source, vectors, sparse),
      (error) => error instanceof EngineError && error.details["field"] === path,
    );
  });
}

test("a strict schema refuses what it does not know, at any depth", () => {
  const strict = parseSchema({
    fields: [
      { name: "x", source_path: "a.b", kind: "i64" },
      { name: "j", kind: "json" },
    ],
    dynamic: "strict",
  });
  extract(strict, { a: [{ b: 1 }], j: { anything: { at: ["all"] } } });
  for (const [source, path] of [
    [{ c: 1 }, "source.c"],
    [{ a: { c: 1 } }, "source.a.c"],
    [{ a: [{ b: 1 }, { b: 1, c: null }] }, "source.a.c"],
    [{ a: 1 }, "source.a"],
  ] as const) {
    assert.throws(() => extract(strict, source), { details: { field: path } });
  }
});

test("a source nested too deep is refused before anything walks it", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  assert.throws(() => extract(schema, { k: deep }), { details: { field: "source" } });
});

const dates: [unknown, number | undefined][] = [
  ["1970-01-01T00:00:00Z", 0],
  ["1970-01-01t00:00:00.123456789z", 123],
  ["1970-01-01 01:00:00+01:00", 0],
  ["1969-12-31T23:30:00-00:30", 0],
  ["1970-01-02", 86_400_000],
  ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
  ["0001-01-01T00:00:00Z", Date.parse("0001-01-01T00:00:00Z")],
  ["0000-02-29T00:00:00Z", Date.parse("0000-02-29T00:00:00Z")],
  ["-000004-02-29T00:00:00Z", Date.parse("-000004-02-29T00:00:00Z")],
  ["+010000-01-01T00:00:00Z", Date.parse("+010000-01-01T00:00:00Z")],
  ["-000001-02-29T00:00:00Z", undefined],
  ["+10000-01-01T00:00:00Z", undefined],
  [-5, -5],
  // A leap second is the one after it, as in every count of seconds since 1970.
  ["2016-12-31T23:59:60Z", Date.UTC(2017, 0, 1)],
  ["2016-12-31T23:59:61Z", undefined],
  ["2023-02-29T00:00:00Z", undefined],
  ["2023-13-01T00:00:00Z", undefined],
  ["2023-01-01T24:00:00Z", undefined],
  ["2023-01-01T00:00:00", undefined],
  ["2023-01-01T00:00:00+25:00", undefined],
  ["2023-1-1", undefined],
  ["", undefined],
  [1.5, undefined],
  [9e15, undefined],
  [true, undefined],
];
for (const [given, want] of dates) test(`date ${given}`, () => assert.equal(parseDate(given), want));
