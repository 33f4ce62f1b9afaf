import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CollectionClient } from "../support/collections.ts";
import { type Answer, ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError } from "../support/streams.ts";

/** SQL over REST: what a statement sees, what its answer is, and what is refused. */

const schema = {
  fields: [
    { name: "title", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
    { name: "price", kind: "f64" },
    { name: "sold", kind: "bool" },
    { name: "at", kind: "date" },
    { name: "extra", kind: "json" },
  ],
  vectors: [{ name: "v", dim: 2, distance: "cosine" }],
};

const documents = [
  { id: 1, source: { title: "red apple", tag: "a", n: 1, price: 1.5, sold: true, at: "2024-01-01T00:00:00Z" } },
  { id: 2, source: { title: "green apple", tag: "b", n: 2, price: 2.5, sold: false, extra: { x: [1] } } },
  { id: 3, source: { title: "red wine", tag: ["a", "b"], n: 3 }, vectors: { v: [1, 0] } },
];

describe("SQL over REST", () => {
  let server: ServerProcess;
  let client: CollectionClient;

  before(async () => {
    server = await ServerProcess.start();
    client = await CollectionClient.create(server.url, "shop");
    await client.made("docs", schema);
    await client.written(
      "docs",
      documents.map((document) => ({ upsert: document })),
    );
    const streams = `${client.url}/streams`;
    assert.equal((await ask(streams, { body: { name: "events", partitions: 2 } })).status, 201);
    for (const partition of [0, 1]) {
      const records = [
        { key: base64("k"), value: base64(`{"p":${partition}}`), headers: [{ key: "h", value: base64("x") }] },
        { value: base64("plain"), timestamp_ms: 1_700_000_000_000 },
      ];
      const done = await ask(`${streams}/events/partitions/${partition}/records`, { body: { records } });
      assert.equal(done.status, 200, done.text);
    }
  });

  after(() => server[Symbol.asyncDispose]());

  test("whole parameters beyond 2^53 are exact", async () => {
    const answer = await fetch(`${client.url}/sql`, {
      method: "POST",
      body: '{"query":"select ? as a, ?::hugeint + 1 as b, ? as c","params":[9007199254740993,-12345678901234567890,1.5]}',
      headers: { "content-type": "application/json" },
    });
    const { rows } = (await answer.json()) as { rows: unknown };
    assert.deepEqual(rows, [{ a: "9007199254740993", b: "-12345678901234567889", c: 1.5 }]);
  });

  test("a subquery as an argument of a retriever is refused where it stands", async () => {
    const query = "select _id from vector_search(docs, (select v from docs where _id = 3), v, 2)";
    const answer = await ask(`${client.url}/sql`, { body: { query } });
    assertError(answer, 400, "invalid_argument");
    assert.match(answer.json.message, /can't be a subquery/);
    assert.equal(answer.json.sql.position, query.indexOf("select v"));
  });

  function sql(query: string, params?: readonly unknown[], headers: Record<string, string> = {}): Promise<Answer> {
    return ask(`${client.url}/sql`, { body: { query, ...(params === undefined ? {} : { params }) }, headers });
  }

  async function rows(query: string, params?: readonly unknown[]): Promise<Answer["json"]> {
    const done = await sql(query, params);
    assert.equal(done.status, 200, done.text);
    return done.json.rows;
  }

  test("an answer has columns with their types, rows, their number and a token", async () => {
    const done = await sql("select _id, title, n * 2 as twice from docs order by _id limit 2");
    assert.equal(done.status, 200, done.text);
    assert.deepEqual(done.json.columns, [
      { name: "_id", type: "BIGINT" },
      { name: "title", type: "VARCHAR" },
      { name: "twice", type: "BIGINT" },
    ]);
    assert.deepEqual(done.json.rows, [
      { _id: 1, title: "red apple", twice: 2 },
      { _id: 2, title: "green apple", twice: 4 },
    ]);
    assert.equal(done.json.row_count, 2);
    assert.equal(done.json.token.length, 1);
    assert.equal(done.headers.get("service-consistency-token"), JSON.stringify(done.json.token));
  });

  test("a collection is a table of its fields, vectors and source, also by its schema and its namespace", async () => {
    const [row] = await rows("select * from collections.docs where _id = 3");
    assert.deepEqual(row, {
      _id: 3,
      title: "red wine",
      tag: "a",
      n: 3,
      price: null,
      sold: null,
      at: null,
      extra: null,
      v: [1, 0],
      _source: { title: "red wine", tag: ["a", "b"], n: 3 },
    });
    assert.deepEqual(await rows("select count(*) as c from shop.collections.docs"), [{ c: 3 }]);
    assert.deepEqual(await rows('select "at", sold, extra from docs where _id <= 2 order by _id'), [
      { at: "2024-01-01T00:00:00Z", sold: true, extra: null },
      { at: null, sold: false, extra: { x: [1] } },
    ]);
  });

  test("a stream is a table of its records", async () => {
    assert.deepEqual(
      await rows('select "partition", "offset", key, value, headers from streams.events order by 1, 2 limit 2'),
      [
        { partition: 0, offset: 0, key: "k", value: '{"p":0}', headers: { h: "x" } },
        { partition: 0, offset: 1, key: null, value: "plain", headers: {} },
      ],
    );
    assert.deepEqual(
      await rows("select e.\"partition\" as p, e.timestamp from streams.events e where e.value = 'plain' order by 1"),
      [
        { p: 0, timestamp: "2023-11-14T22:13:20Z" },
        { p: 1, timestamp: "2023-11-14T22:13:20Z" },
      ],
    );
  });

  for (const [query, want] of [
    ["select partition, offset, key from streams.events order by partition, offset limit 1 offset 1", [0, 1, null]],
    ["select max(offset), count(distinct offset) from streams.events where offset >= 0 and not offset < 0", [1, 2]],
    ["select s.offset from streams.events s where offset = 1 and s.partition = 1", [1]],
    ["select 'offset', -offset from streams.events where offset between 1 and 1 limit 1", ["offset", -1]],
    ["with a as (select offset from streams.events) select offset from a where offset in (1, 2) limit 1", [1]],
  ] as const) {
    test(`a stream's offset needs no quotes: ${query}`, async () => {
      const [row] = await rows(query);
      assert.deepEqual(Object.values(row), want);
    });
  }

  test("a fault beside a bare offset has its place in the query as it was given", async () => {
    for (const [query, position] of [
      ["select offset, nope from streams.events", 15],
      ["select offset,, 1 from streams.events", 14],
      ["select offset from nope where offset = 1", 19],
    ] as const) {
      assert.equal((await sql(query)).json.sql.position, position, query);
    }
  });

  test("a write is seen by the next statement", async () => {
    await client.written("docs", [{ upsert: { id: 9, source: { title: "new", n: 9 } } }]);
    assert.deepEqual(await rows("select title from docs where n = 9"), [{ title: "new" }]);
    await client.written("docs", [{ delete: { id: 9 } }]);
    assert.deepEqual(await rows("select count(*) as c from docs"), [{ c: 3 }]);
  });

  test("what lists and structs hold is written as it is in a column of its own", async () => {
    const query = `select {'d': 1.10::decimal(5, 2), 'j': extra, 'n': 9007199254740993} s, list(extra) l,
      [1.5::decimal(3, 1)] ds from docs where _id = 2 group by extra`;
    assert.deepEqual(await rows(query), [
      { s: { d: 1.1, j: { x: [1] }, n: "9007199254740993" }, l: [{ x: [1] }], ds: [1.5] },
    ]);
  });

  test("instants far from now keep their milliseconds", async () => {
    const instants = ["9999-12-31T23:59:59.999Z", "2300-01-01T00:00:00.001Z", "0001-01-01T00:00:00.001Z"];
    await client.made("times", { fields: [{ name: "at", kind: "date" }] });
    await client.written(
      "times",
      instants.map((at, id) => ({ upsert: { id, source: { at } } })),
    );
    assert.deepEqual(
      await rows('select "at" from times order by _id'),
      instants.map((at) => ({ at })),
    );
    const made = await ask(`${client.url}/streams`, { body: { name: "times" } });
    assert.equal(made.status, 201, made.text);
    const records = instants.slice(0, 2).map((at) => ({ timestamp_ms: Date.parse(at) }));
    const appended = await ask(`${client.url}/streams/times/partitions/0/records`, { body: { records } });
    assert.equal(appended.status, 200, appended.text);
    assert.deepEqual(
      await rows('select timestamp from streams.times order by "offset"'),
      instants.slice(0, 2).map((timestamp) => ({ timestamp })),
    );
    await ask(client.of("times"), { method: "DELETE" });
    await ask(`${client.url}/streams/times`, { method: "DELETE" });
  });

  test("values fill ? and $1", async () => {
    assert.deepEqual(await rows("select title from docs where n > ? and tag = ?", [1, "b"]), [
      { title: "green apple" },
    ]);
    assert.deepEqual(await rows("select $2 as b, $1 as a", [1, "x"]), [{ b: "x", a: 1 }]);
    assertError(await sql("select ?", []), 400, "invalid_argument", "params");
    assertError(await sql("select 1", [1]), 400, "invalid_argument", "params");
    for (const query of ["select $0", "select $00", "select $0, $1"])
      assertError(await sql(query, [1]), 400, "invalid_argument", "query");
    // Each level once: a type found anew at every level would double the work with each of them, for ever.
    const nested: unknown = JSON.parse(`${"[".repeat(60)}7${"]".repeat(60)}`);
    assert.deepEqual(await rows("select ? as x", [nested]), [{ x: nested }]);
    for (const list of [
      [null, [null, ["a"]]],
      [[1], [1.5]],
      [{ a: 1 }, { a: 1.5 }],
      [[], [1]],
      [{ a: null }, { a: 1 }, null],
      [[{ a: [] }], [{ a: [true] }]],
      [
        { a: 1, b: "x" },
        { a: 2, b: null },
      ],
    ])
      assert.deepEqual(await rows("select ? as x", [list]), [{ x: list }], JSON.stringify(list));
    for (const mixed of [
      [1, "a"],
      [[1], ["a"]],
      [{ a: 1 }, { a: 2, b: 3 }],
      [{ a: 1 }, { b: 2 }],
      [[1], { a: 1 }],
    ]) {
      assertError(await sql("select ?", [mixed]), 400, "invalid_argument", "params[0]");
    }
  });

  const values: readonly (readonly [string, unknown])[] = [
    ["sum(n) from docs", 6],
    ["9007199254740993", "9007199254740993"],
    ["12345678901234567890123", "12345678901234567890123"],
    ["1.25", 1.25],
    ["'a'::blob", base64("a")],
    ["[1, 2]", [1, 2]],
    ["{'a': 1, 'b': 'x'}", { a: 1, b: "x" }],
    ["map {'k': 1}", { k: 1 }],
    ["'nan'::double", "NaN"],
    ["'-infinity'::double::json", "-Infinity"],
    [`'{"a": [-inf, NaN, 1], "nan": "a \\" inf"}'::json`, { a: ["-Infinity", "NaN", 1], nan: 'a " inf' }],
    ["date '2024-02-29'", "2024-02-29"],
    ["timestamp '2024-02-29 01:02:03.5'", "2024-02-29T01:02:03.5"],
    ["interval '1 day'", "1 day"],
    ["null", null],
    ["true", true],
    ["'{\"a\":[1]}'::json", { a: [1] }],
    ["'00000000-0000-4000-8000-000000000001'::uuid", "00000000-0000-4000-8000-000000000001"],
  ];
  for (const [expression, want] of values) {
    test(`select ${expression} is ${JSON.stringify(want)}`, async () => {
      const [row] = await rows(`select ${expression}`);
      assert.deepEqual(Object.values(row), [want]);
    });
  }

  test("names that are there twice get a number", async () => {
    assert.deepEqual(await rows("select 1 as a, 2 as a"), [{ a: 1, a_1: 2 }]);
  });

  test("a large result comes whole", async () => {
    const done = await sql("select range as r, 'text of row ' || range as t from range(100000)");
    assert.equal(done.json.row_count, 100_000);
    assert.equal(done.json.rows.length, 100_000);
    assert.deepEqual(done.json.rows[99_999], { r: 99_999, t: "text of row 99999" });
  });

  test("what there is can be asked for", async () => {
    assert.deepEqual(await rows("show tables"), [{ name: "docs" }]);
    assert.deepEqual(
      await rows("select table_catalog, table_schema, table_name from information_schema.tables order by all"),
      [
        { table_catalog: "shop", table_schema: "collections", table_name: "docs" },
        { table_catalog: "shop", table_schema: "streams", table_name: "events" },
      ],
    );
    for (const relation of ["pg_class", "pg_catalog.pg_class"]) {
      const relations = await rows(`select relname from ${relation} where relkind <> 'i' order by relname`);
      assert.deepEqual(relations, [{ relname: "docs" }, { relname: "events" }], relation);
    }
    assert.deepEqual(await rows("select * from pg_views"), []);
    assert.deepEqual(await rows("select datname from pg_database"), [{ datname: "shop" }]);
    const described = await rows("describe docs");
    assert.deepEqual(
      described.map((row: { column_name: string; column_type: string }) => [row.column_name, row.column_type]),
      [
        ["_id", "BIGINT"],
        ["title", "VARCHAR"],
        ["tag", "VARCHAR"],
        ["n", "BIGINT"],
        ["price", "DOUBLE"],
        ["sold", "BOOLEAN"],
        ["at", "TIMESTAMP WITH TIME ZONE"],
        ["extra", "JSON"],
        ["v", "FLOAT[2]"],
        ["_source", "JSON"],
      ],
    );
    assert.equal((await rows("explain select * from docs")).length, 1);
  });

  const faults: readonly (readonly [string, string, number | undefined])[] = [
    ["selec 1", "syntax", 0],
    ["select 'é', nope from docs", "unknown_column", 12],
    ["select * from nope", "unknown_table", 14],
    ["select nofn(1)", "unknown_function", 7],
    ["select tag, count(*) from docs", "grouping", 7],
    ["select 'x'::int", "invalid_value", 10],
    ["insert into docs values (1)", "read_only", undefined],
    ["select 1; select 2", "unsupported", undefined],
    ["select * from read_text('/etc/hostname')", "forbidden", 14],
    ["", "syntax", undefined],
  ];
  for (const [query, kind, position] of faults) {
    test(`${JSON.stringify(query)} is ${kind}`, async () => {
      const done = await sql(query);
      assertError(done, 400, "invalid_argument", "query");
      if (query !== "") assert.deepEqual(done.json.sql, { kind, ...(position === undefined ? {} : { position }) });
    });
  }

  test("collections whose names differ in case only are two tables, by turns and in one statement", async () => {
    const field = { fields: [{ name: "v", kind: "keyword" }] };
    for (const name of ["Bar", "bar"]) {
      await client.made(name, field);
      await client.written(name, [{ upsert: { id: 1, source: { v: `I am ${name}` } } }]);
    }
    for (let round = 0; round < 3; round++) {
      for (const name of ["Bar", "bar"]) {
        assert.deepEqual(await rows(`select v from "${name}"`), [{ v: `I am ${name}` }]);
        assert.deepEqual(await rows(`select x.v from collections."${name}" as x`), [{ v: `I am ${name}` }]);
      }
    }
    const both = await rows('select a.v as av, b.v as bv from "Bar" a, "bar" b');
    assert.deepEqual(both, [{ av: "I am Bar", bv: "I am bar" }]);
    await client.written("bar", [{ upsert: { id: 2, source: { v: "new" } } }]);
    assert.deepEqual(await rows('select count(*) as c from "bar"'), [{ c: 2 }]);
    assert.deepEqual(await rows('select count(*) as c from "Bar"'), [{ c: 1 }]);
    assert.equal((await ask(`${client.url}/collections/Bar`, { method: "DELETE" })).status, 200);
    assert.deepEqual(await rows('select count(*) as c from "bar"'), [{ c: 2 }]);
    assert.equal((await ask(`${client.url}/collections/bar`, { method: "DELETE" })).status, 200);
  });

  test("a NUL ends no statement", async () => {
    assertError(await sql("select 1 \0 garbage"), 400, "invalid_argument", "query");
  });

  test("a value that is too long to be sent is refused, and not the server's fault", async () => {
    const done = await sql("select repeat('x', 300000000) as r");
    // By its length, or by the memory or the time that making it takes before.
    assert.match(done.text, /300000000 bytes is too long|SERVICE_SQL_MEMORY_BYTES|SERVICE_SQL_TIME/);
    assert.ok([400, 429, 503].includes(done.status), done.text);
  });

  test("an unknown namespace is 404", async () => {
    assertError(await ask(`${server.url}/v1/namespaces/none/sql`, { body: { query: "select 1" } }), 404, "not_found");
  });
});
