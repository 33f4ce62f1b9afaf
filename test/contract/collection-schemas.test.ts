import assert from "node:assert/strict";
import { test } from "node:test";
import { CollectionClient, collectionsServer, numbers, upserts } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { assertError, eventually } from "../support/streams.ts";

const { server, client } = collectionsServer("100ms");

const field = (name: string, kind: unknown, indexed: boolean, fast: boolean, source_path = name) => ({
  name,
  source_path,
  kind,
  indexed,
  fast,
});

test("a collection shows its schema with every default, and everything else that it has", async () => {
  const c = await client();
  const made = await c.made("docs", {
    fields: [
      { name: "tag", source_path: "meta.tag", kind: "keyword", fast: true },
      { name: "body", kind: { text: { analyzer: "standard", positions: true } } },
      { name: "n", kind: "i64", indexed: null },
    ],
    vectors: [{ name: "v", dim: 3, distance: "cosine" }],
    sparse_vectors: [{ name: "s" }],
    dynamic: "ignore",
    max_fields: 10,
  });
  const { id, ...rest } = made.json;
  assert.ok(Number.isSafeInteger(id) && id > 0);
  assert.deepEqual(rest, {
    namespace: c.namespace,
    name: "docs",
    aliases: [],
    schema: {
      fields: [
        field("tag", "keyword", true, true, "meta.tag"),
        field("body", { text: { analyzer: "standard", positions: true } }, true, false),
        field("n", "i64", true, true),
      ],
      vectors: [{ name: "v", dim: 3, distance: "cosine" }],
      sparse_vectors: [{ name: "s" }],
      dynamic: "ignore",
      max_fields: 10,
    },
    schema_version: 1,
    manifest: { version: 0, records: 0, bytes: 0, lance: null, applied: 0 },
    hot: { enabled: false, state: "cold" },
    backpressure: { throttled: false, backlog_records: 0, backlog_bytes: 0, retry_after_ms: 0 },
  });
  assert.deepEqual(await c.info("docs"), made.json);
});

test("an empty schema has the defaults", async () => {
  const c = await client();
  const { schema } = (await c.made("docs", {})).json;
  assert.deepEqual(schema, { fields: [], vectors: [], sparse_vectors: [], dynamic: "ignore", max_fields: 1000 });
});

for (const [given, kind, fast] of [
  ["keyword", "keyword", false],
  ["text", { text: { analyzer: "standard", positions: true } }, false],
  ["i64", "i64", true],
  ["integer", "i64", true],
  ["long", "i64", true],
  ["f64", "f64", true],
  ["float", "f64", true],
  ["double", "f64", true],
  ["bool", "bool", true],
  ["boolean", "bool", true],
  ["date", "date", true],
  ["timestamp", "date", true],
] as const) {
  test(`the kind ${given} is ${JSON.stringify(kind)}`, async () => {
    const c = await client();
    const { schema } = (await c.made("docs", { fields: [{ name: "f", kind: given }] })).json;
    assert.deepEqual(schema.fields, [field("f", kind, true, fast)]);
  });
}

test("a json field is stored only", async () => {
  const c = await client();
  const { schema } = (await c.made("docs", { fields: [{ name: "f", kind: "json" }] })).json;
  assert.deepEqual(schema.fields, [field("f", "json", false, false)]);
});

test("analyzers go by name, and each finds what it should", async () => {
  const c = await client();
  const names = ["standard", "simple", "whitespace", "keyword", "english", "german", "french"];
  const fields = names.map((analyzer) => ({ name: analyzer, source_path: "t", kind: { text: { analyzer } } }));
  await c.made("docs", { fields });
  await c.written("docs", [{ upsert: { id: 1, source: { t: "The Runners were running-2" } } }]);
  for (const [analyzer, word, found] of [
    ["standard", "RUNNERS", 1],
    ["standard", "runner", 0],
    ["standard", "2", 1],
    ["simple", "2", 0],
    ["simple", "runners", 1],
    ["whitespace", "running-2", 1],
    ["whitespace", "runners", 0],
    ["keyword", "The Runners were running-2", 1],
    ["keyword", "Runners", 0],
    ["english", "run", 1],
    ["english", "runner", 1],
  ] as const) {
    assert.equal(await c.count("docs", { match: { [analyzer]: word } }), found, `${analyzer} ${word}`);
  }
});

for (const [what, schema, at] of [
  ["an unknown kind", { fields: [{ name: "f", kind: "varchar" }] }, "schema.fields[0].kind"],
  ["no kind", { fields: [{ name: "f" }] }, "schema.fields[0].kind"],
  ["two kinds", { fields: [{ name: "f", kind: { text: {}, keyword: {} } }] }, "schema.fields[0].kind"],
  [
    "an unknown analyzer",
    { fields: [{ name: "f", kind: { text: { analyzer: "klingon" } } }] },
    "schema.fields[0].kind.text.analyzer",
  ],
  [
    "an unknown option of text",
    { fields: [{ name: "f", kind: { text: { stem: true } } }] },
    "schema.fields[0].kind.text.stem",
  ],
  ["a field without a name", { fields: [{ kind: "keyword" }] }, "schema.fields[0].name"],
  ["a reserved name", { fields: [{ name: "_id", kind: "i64" }] }, "schema.fields[0].name"],
  [
    "a name twice",
    {
      fields: [
        { name: "f", kind: "i64" },
        { name: "f", kind: "i64" },
      ],
    },
    "schema.fields[1].name",
  ],
  [
    "a vector with a field's name",
    { fields: [{ name: "f", kind: "i64" }], vectors: [{ name: "f", dim: 2 }] },
    "schema.vectors[0].name",
  ],
  [
    "an empty part of a path",
    { fields: [{ name: "f", kind: "i64", source_path: "a..b" }] },
    "schema.fields[0].source_path",
  ],
  ["a name that is its path and has an empty part", { fields: [{ name: "a.", kind: "i64" }] }, "schema.fields[0].name"],
  ["an unknown member", { fields: [{ name: "f", kind: "i64", stored: true }] }, "schema.fields[0].stored"],
  [
    "a json field that is indexed",
    { fields: [{ name: "f", kind: "json", indexed: true }] },
    "schema.fields[0].indexed",
  ],
  ["a dim of 0", { vectors: [{ name: "v", dim: 0 }] }, "schema.vectors[0].dim"],
  ["no dim", { vectors: [{ name: "v" }] }, "schema.vectors[0].dim"],
  ["an unknown distance", { vectors: [{ name: "v", dim: 2, distance: "hamming" }] }, "schema.vectors[0].distance"],
  ["an unknown mode", { dynamic: "maybe" }, "schema.dynamic"],
  [
    "more fields than max_fields",
    {
      fields: [
        { name: "a", kind: "i64" },
        { name: "b", kind: "i64" },
      ],
      max_fields: 1,
    },
    "schema.fields",
  ],
  ["a max_fields of 0", { max_fields: 0 }, "schema.max_fields"],
  ["fields that are no array", { fields: {} }, "schema.fields"],
  ["an unknown member of the schema", { settings: {} }, "schema.settings"],
] as const) {
  test(`a schema with ${what} is refused`, async () => {
    const c = new CollectionClient(server().url, "ns0");
    assertError(await c.make("bad", schema), 400, "invalid_argument", at);
  });
}

interface HighlightedRow {
  readonly _id: number;
  readonly _highlights: Readonly<Record<string, string[]>>;
}

test("text folds accents on request, and Chinese, Japanese and Korean are found by their characters", async () => {
  const c = await client();
  const text = (name: string, options: object) => ({ name, source_path: "t", kind: { text: options } });
  const made = await c.made("docs", {
    fields: [text("plain", {}), text("folded", { folding: true }), text("cjk", { analyzer: "cjk" })],
  });
  assert.deepEqual(made.json.schema.fields[1].kind, { text: { analyzer: "standard", positions: true, folding: true } });
  await c.write("docs", [
    { upsert: { id: 1, source: { t: "Crème brûlée" } } },
    { upsert: { id: 2, source: { t: "東京都の天気" } } },
    { upsert: { id: 3, source: { t: "京東" } } },
    { upsert: { id: 4, source: { t: "한국어를 배우다" } } },
  ]);
  const found = async (field: string, query: string) => {
    const answer = await ask(`${c.url}/query`, {
      body: { from: "docs", retrieve: [{ text: { field, query, k: 10 } }], highlight: { fields: [field] } },
    });
    assert.equal(answer.status, 200, answer.text);
    return answer.json.rows.map((row: HighlightedRow) => [row._id, ...row._highlights[field]!]);
  };
  assert.deepEqual(await found("plain", "creme"), []);
  assert.deepEqual(await found("folded", "creme BRULÉE"), [[1, "<em>Crème</em> <em>brûlée</em>"]]);
  assert.deepEqual(await found("cjk", "東京都"), [[2, "<em>東京都</em>の天気"]]);
  assert.deepEqual(await found("cjk", '"京都の"'), [[2, "東<em>京都の</em>天気"]]);
  assert.deepEqual(await found("cjk", "天"), [[2, "東京都の<em>天</em>気"]]);
  assert.deepEqual(await found("cjk", "한국어"), [[4, "<em>한국어</em>를 배우다"]]);
});

test("a language's former stemmer can be kept", async () => {
  const c = await client();
  const schema = (options: object) => ({ fields: [{ name: "t", kind: { text: { analyzer: "dutch", ...options } } }] });
  const made = await c.made("docs", schema({ revision: 1 }));
  assert.equal(made.json.schema.fields[0].kind.text.revision, 1);
  await c.write("docs", [{ upsert: { id: 1, source: { t: "gelopen" } } }]);
  const count = async (text: string) =>
    (await ask(`${c.url}/collections/docs/documents/count`, { body: { filter: { match: { t: text } } } })).json.count;
  assert.deepEqual([await count("gelopen"), await count("lopen")], [1, 0]);
  assert.equal((await c.made("docs", schema({}))).json.id, made.json.id);
  assertError(
    await c.make("other", schema({ revision: 3 })),
    400,
    "invalid_argument",
    "schema.fields[0].kind.text.revision",
  );
});

test("fields are added by version, and filled from what is stored", async () => {
  const c = await client();
  await c.made("docs", { fields: [{ name: "a", kind: "i64" }] });
  await c.written(
    "docs",
    upserts(numbers(0, 10), (id) => ({ a: id, deep: [{ x: `t${id % 2}` }] })),
  );
  await c.sealed("docs");
  await c.written(
    "docs",
    upserts(numbers(10, 14), (id) => ({ a: id, deep: [{ x: `t${id % 2}` }] })),
  );
  const x = { name: "x", source_path: "deep.x", kind: "keyword", fast: true };
  const stale = await ask(`${c.of("docs")}/fields`, { body: { fields: [x], expected_schema_version: 2 } });
  assertError(stale, 409, "conflict");
  assert.equal(stale.json.schema_version, 1);
  const added = await ask(`${c.of("docs")}/fields`, { body: { fields: [x], expected_schema_version: 1 } });
  assert.equal(added.status, 200, added.text);
  assert.deepEqual(added.json, {
    schema: { ...(await c.info("docs")).schema },
    schema_version: 2,
  });
  assert.deepEqual(added.json.schema.fields[1], field("x", "keyword", true, true, "deep.x"));
  await eventually(
    () => c.count("docs", { term: { x: "t1" } }),
    (count) => count === 7,
  );
  const again = await ask(`${c.of("docs")}/fields`, { body: { fields: [x] } });
  assertError(again, 400, "invalid_argument", "fields[0].name");
  for (const [fields, at] of [
    [[], "fields"],
    [[{ name: "y" }], "fields[0].kind"],
    [
      [
        { name: "y", kind: "i64" },
        { name: "y", kind: "i64" },
      ],
      "fields[1].name",
    ],
  ] as const) {
    assertError(await ask(`${c.of("docs")}/fields`, { body: { fields } }), 400, "invalid_argument", at);
  }
});

test("max_fields bounds added fields too", async () => {
  const c = await client();
  await c.made("docs", { fields: [{ name: "a", kind: "i64" }], max_fields: 1 });
  const more = await ask(`${c.of("docs")}/fields`, { body: { fields: [{ name: "b", kind: "i64" }] } });
  assertError(more, 400, "invalid_argument", "fields");
});

test("the dynamic modes keep, refuse or add what the schema lacks", async () => {
  const c = await client();
  const source = { known: 1, extra: { word: "hello there", when: "2024-05-06T07:08:09Z", n: 2, x: 0.5, yes: true } };
  const fields = [{ name: "known", kind: "i64" }];
  await c.made("ignore", { fields, dynamic: "ignore" });
  await c.written("ignore", [{ upsert: { id: 1, source } }]);
  assert.deepEqual((await c.get("ignore", 1)).json.source, source);
  assertError(
    await c.post("ignore", "count", { filter: { term: { "extra.n": 2 } } }),
    400,
    "invalid_argument",
    "filter.term.extra.n",
  );
  await c.made("strict", { fields, dynamic: "strict" });
  assertError(
    await c.write("strict", [{ upsert: { id: 1, source } }]),
    400,
    "invalid_argument",
    "ops[0].upsert.source.extra",
  );
  assert.equal(await c.count("strict"), 0);
  await c.made("dynamic", { fields, dynamic: "dynamic", max_fields: 5 });
  await c.written("dynamic", [{ upsert: { id: 1, source } }]);
  const info = await c.info("dynamic");
  assert.deepEqual(
    info.schema.fields.map(({ name, kind }: { name: string; kind: unknown }) => [name, kind]),
    [
      ["known", "i64"],
      ["extra.word", { text: { analyzer: "standard", positions: true } }],
      ["extra.when", "date"],
      ["extra.n", "i64"],
      ["extra.x", "f64"],
    ],
    "up to max_fields",
  );
  assert.equal(info.schema_version, 2);
  assert.equal(await c.count("dynamic", { match: { "extra.word": "there" } }), 1);
  assert.equal(await c.count("dynamic", { range: { "extra.when": { gte: "2024-05-06T09:08:09+02:00" } } }), 1);
  assertError(
    await c.write("dynamic", [{ upsert: { id: 2, source: { extra: { n: "two" } } } }]),
    400,
    "invalid_argument",
    "ops[0].upsert.source.extra.n",
  );
});

test("what no field may be called is kept in the source and not inferred", async () => {
  const c = await client();
  const names = ["", ".", "a.", ".a", "a..b", "a\u0001b", "\ud800", "_a", "x".repeat(300)];
  await c.made("docs", { dynamic: "dynamic" });
  const sources = [
    ...names.map((name) => ({ [name]: 1, ok: 1 })),
    { deep: { "": 1 } },
    { "": { n: 1 } },
    { a: { "b.": [1] } },
  ];
  for (const [id, source] of sources.entries()) await c.written("docs", [{ upsert: { id, source } }]);
  const { schema } = await c.info("docs");
  assert.deepEqual(
    schema.fields.map(({ name }: { name: string }) => name),
    ["ok"],
  );
  for (const [id, source] of sources.entries()) {
    assert.deepEqual((await c.get("docs", id)).json.source, JSON.parse(JSON.stringify(source)));
  }
  assert.equal(await c.count("docs", { term: { ok: 1 } }), names.length);
});
