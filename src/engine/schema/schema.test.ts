import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../errors.ts";
import { inferFields, type Schema, sameSchema } from "./schema.ts";
import { addFields, formatSchema, parseFields, parseSchema, readSchema, withFormerAnalyzers } from "./schema-parse.ts";

function fieldAtFault(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof EngineError && error.reason === "invalid_argument", String(error));
    return error.details["field"];
  }
  assert.fail("nothing was thrown");
}

test("the defaults of each kind", () => {
  const kinds = ["keyword", "text", "integer", "long", "float", "double", "boolean", "timestamp", "json"];
  const schema = parseSchema({ fields: kinds.map((kind) => ({ name: kind, kind })) });
  assert.deepEqual(
    schema.fields.map(({ kind, indexed, fast }) => [kind.kind, indexed, fast]),
    [
      ["keyword", true, false],
      ["text", true, false],
      ["i64", true, true],
      ["i64", true, true],
      ["f64", true, true],
      ["f64", true, true],
      ["bool", true, true],
      ["date", true, true],
      ["json", false, false],
    ],
  );
  assert.deepEqual(schema.fields[1]!.kind, { kind: "text", analyzer: "standard", positions: true });
  assert.deepEqual([schema.dynamic, schema.maxFields], ["ignore", 1000]);
});

test("what is formatted is parsed to the same schema", () => {
  const schema = parseSchema({
    fields: [
      { name: "title", source_path: "a.b", kind: { text: { analyzer: "french", positions: false } }, fast: true },
      { name: "count", kind: { i64: {} }, indexed: false },
      { name: "free", kind: "json" },
    ],
    vectors: [{ name: "v", dim: 3, distance: "l2" }],
    sparse_vectors: [{ name: "s" }],
    dynamic: "strict",
    max_fields: 5,
  });
  assert.deepEqual(parseSchema(formatSchema(schema)), schema);
  assert.deepEqual(readSchema(JSON.parse(JSON.stringify(formatSchema(schema)))), schema);
});

test("a collection from before stemmers were replaced keeps the ones that made its terms", () => {
  const text = (analyzer: string, options = {}) => ({ name: analyzer, kind: { text: { analyzer, ...options } } });
  const names = ["dutch", "danish", "standard"];
  const former = withFormerAnalyzers(parseSchema({ fields: names.map((name) => text(name)) }));
  assert.deepEqual(former, parseSchema({ fields: [text("dutch", { revision: 1 }), text("danish"), text("standard")] }));
  assert.deepEqual(readSchema(formatSchema(former)), former);
  assert(sameSchema(former, parseSchema({ fields: names.map((name) => text(name)) })));
  assert(!sameSchema(former, parseSchema({ fields: names.map((name) => text(name, { folding: true })) })));
});

const field = { name: "a", kind: "keyword" };
const wrong: [string, unknown, string][] = [
  ["no object", [], "schema"],
  ["unknown member", { colour: 1 }, "schema.colour"],
  ["fields no array", { fields: {} }, "schema.fields"],
  ["field no object", { fields: [1] }, "schema.fields[0]"],
  ["no kind", { fields: [{ name: "a" }] }, "schema.fields[0].kind"],
  ["unknown kind", { fields: [field, field, { name: "c", kind: "varchar" }] }, "schema.fields[2].kind"],
  ["unknown kind as object", { fields: [{ name: "a", kind: { varchar: {} } }] }, "schema.fields[0].kind.varchar"],
  ["two kinds", { fields: [{ name: "a", kind: { text: {}, i64: {} } }] }, "schema.fields[0].kind"],
  ["option of a kind without any", { fields: [{ name: "a", kind: { i64: { x: 1 } } }] }, "schema.fields[0].kind.i64.x"],
  [
    "unknown analyzer",
    { fields: [{ name: "a", kind: { text: { analyzer: "klingon" } } }] },
    "schema.fields[0].kind.text.analyzer",
  ],
  [
    "positions no boolean",
    { fields: [{ name: "a", kind: { text: { positions: 1 } } }] },
    "schema.fields[0].kind.text.positions",
  ],
  ["unknown member of a field", { fields: [{ ...field, stored: true }] }, "schema.fields[0].stored"],
  ["indexed no boolean", { fields: [{ ...field, indexed: "yes" }] }, "schema.fields[0].indexed"],
  ["json indexed", { fields: [{ name: "a", kind: "json", indexed: true }] }, "schema.fields[0].indexed"],
  ["empty name", { fields: [{ name: "", kind: "text" }] }, "schema.fields[0].name"],
  ["reserved name", { fields: [{ name: "_id", kind: "i64" }] }, "schema.fields[0].name"],
  ["long name", { fields: [{ name: "a".repeat(256), kind: "i64" }] }, "schema.fields[0].name"],
  ["path with an empty part", { fields: [{ ...field, source_path: "a..b" }] }, "schema.fields[0].source_path"],
  ["name twice", { fields: [field, field] }, "schema.fields[1].name"],
  ["vector with a field's name", { fields: [field], vectors: [{ name: "a", dim: 2 }] }, "schema.vectors[0].name"],
  ["reserved vector name", { vectors: [{ name: "_score", dim: 2 }] }, "schema.vectors[0].name"],
  ["dim 0", { vectors: [{ name: "v", dim: 0 }] }, "schema.vectors[0].dim"],
  ["dim too high", { vectors: [{ name: "v", dim: 4097 }] }, "schema.vectors[0].dim"],
  ["no dim", { vectors: [{ name: "v" }] }, "schema.vectors[0].dim"],
  ["unknown distance", { vectors: [{ name: "v", dim: 2, distance: "hamming" }] }, "schema.vectors[0].distance"],
  ["sparse vector with dim", { sparse_vectors: [{ name: "s", dim: 2 }] }, "schema.sparse_vectors[0].dim"],
  ["unknown dynamic", { dynamic: "yes" }, "schema.dynamic"],
  ["max_fields 0", { max_fields: 0 }, "schema.max_fields"],
  ["more fields than max_fields", { max_fields: 1, fields: [field, { name: "b", kind: "i64" }] }, "schema.fields"],
];
for (const [name, given, path] of wrong) {
  test(`a schema with ${name} is refused at ${path}`, () => {
    assert.equal(
      fieldAtFault(() => parseSchema(given)),
      path,
    );
  });
}

test("schemas are the same whatever the order of their fields", () => {
  const a = { name: "a", kind: "i64" };
  const b = { name: "b", kind: "text" };
  const schema = parseSchema({ fields: [a, b] });
  assert.ok(sameSchema(schema, parseSchema({ fields: [b, a] })));
  const others: unknown[] = [
    { fields: [a] },
    { fields: [a, { ...b, fast: true }] },
    { fields: [a, { ...b, kind: { text: { analyzer: "english" } } }] },
    { fields: [a, { ...b, source_path: "c" }] },
    { fields: [a, b], dynamic: "strict" },
    { fields: [a, b], vectors: [{ name: "v", dim: 2 }] },
  ];
  for (const other of others) assert.ok(!sameSchema(schema, parseSchema(other)), JSON.stringify(other));
});

test("fields are added at the end, under names that are free", () => {
  const schema = parseSchema({ fields: [field], vectors: [{ name: "v", dim: 2 }], max_fields: 2 });
  const more = parseFields("fields", [{ name: "b", kind: "i64" }]);
  assert.deepEqual(
    addFields(schema, more).fields.map(({ name }) => name),
    ["a", "b"],
  );
  assert.equal(
    fieldAtFault(() => addFields(schema, parseFields("fields", [{ name: "v", kind: "i64" }]))),
    "fields[0].name",
  );
  assert.equal(
    fieldAtFault(() => addFields(schema, [...more, ...parseFields("fields", [{ name: "c", kind: "i64" }])])),
    "fields",
  );
});

test("inference finds what the schema lacks, up to max_fields", () => {
  const schema: Schema = parseSchema({
    fields: [field, { name: "j", kind: "json" }],
    dynamic: "dynamic",
    max_fields: 10,
  });
  const source = {
    a: "known",
    j: { inside: 1 },
    when: "2024-05-01T10:00:00Z",
    title: "some words",
    count: 3,
    ratio: [0.5, 1],
    share: [1, 0.5],
    due: ["2024-05-01T10:00:00Z", "soon"],
    none: null,
    empty: [],
    deep: [{ flag: true }, { flag: false, n: 1 }],
    _hidden: 1,
    late: 1,
  };
  const found = inferFields(schema, source);
  assert.deepEqual(
    found.map(({ name, kind }) => [name, kind.kind]),
    [
      ["when", "date"],
      ["title", "text"],
      ["count", "i64"],
      ["ratio", "f64"],
      ["share", "f64"],
      ["due", "text"],
      ["deep.flag", "bool"],
      ["deep.n", "i64"],
    ],
  );
  assert.deepEqual(inferFields(addFields(schema, found), source), []);
});
