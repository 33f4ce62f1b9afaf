import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import postgres from "postgres";
import { ask } from "../../support/http.ts";
import { ServerProcess } from "../../support/process.ts";
import { makeShop } from "./shop.ts";

let server: ServerProcess;
let client: pg.Client;
let sql: postgres.Sql;

before(async () => {
  server = await ServerProcess.start();
  await makeShop(server.url);
  client = new pg.Client({ ...server.postgres, user: "test", database: "shop" });
  await client.connect();
  sql = postgres({ ...server.postgres, user: "test", database: "shop", max: 2 });
});
after(async () => {
  await client.end();
  await sql.end();
  await server[Symbol.asyncDispose]();
});

async function rows(query: string, values?: unknown[]): Promise<unknown[]> {
  return (await client.query(query, values)).rows;
}

async function failure(query: string, values?: unknown[]): Promise<pg.DatabaseError> {
  const error = await client.query(query, values).then(
    () => assert.fail(`${query} was answered`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof pg.DatabaseError, String(error));
  return error;
}

test("documents, vectors and JSON come as their types", async () => {
  assert.deepEqual(await rows("select * from items where _id = 1"), [
    { _id: "1", title: "red shoe", color: "red", v: [1, 0, 0.5], _source: { title: "red shoe", color: "red" } },
  ]);
  assert.deepEqual(await rows("select title from items where _id = 3"), [{ title: "naïve 🧦" }]);
});

test("a write is seen by the next statement", async () => {
  const shop = await makeShop(server.url, "fresh");
  const fresh = new pg.Client({ ...server.postgres, user: "test", database: "fresh" });
  await fresh.connect();
  try {
    assert.deepEqual((await fresh.query("select count(*) from items")).rows, [{ count: "3" }]);
    await shop.written("items", [{ upsert: { id: 9, source: { title: "new" } } }]);
    assert.deepEqual((await fresh.query("select count(*) from items")).rows, [{ count: "4" }]);
  } finally {
    await fresh.end();
  }
});

for (const [expression, want] of [
  ["true", true],
  ["7::smallint", 7],
  ["-8::int", -8],
  ["9007199254740993::bigint", "9007199254740993"],
  ["170141183460469231731687303715884105727::hugeint", "170141183460469231731687303715884105727"],
  ["1.5::float", 1.5],
  ["0.1::float", 0.1],
  ["'NaN'::double", Number.NaN],
  ["12.340::decimal(10,3)", "12.340"],
  ["-0.05::decimal(10,2)", "-0.05"],
  ["'a''b'", "a'b"],
  ["''", ""],
  ["null", null],
  ["'ab'::blob", Buffer.from("ab")],
  ["'00000000-0000-0000-0000-00000000000f'::uuid", "00000000-0000-0000-0000-00000000000f"],
  ["'12:34:56.789'::time", "12:34:56.789"],
  ["'2024-02-29 12:00:00.5+00'::timestamptz", new Date("2024-02-29T12:00:00.5Z")],
  ["[1, null, 3]::int[]", [1, null, 3]],
  ["['a', 'b,c', '', 'NULL', '\"']", ["a", "b,c", "", "NULL", '"']],
  ["[1.5::float, 2]", [1.5, 2]],
  ["{'a': 1, 'b': [1, 2]}", { a: 1, b: [1, 2] }],
  ["[[1, 2], [3]]", [[1, 2], [3]]],
  ["map(['k'], [1])", { k: 1 }],
] as const) {
  test(`${expression} is read as its type`, async () => {
    assert.deepEqual(await rows(`select ${expression} as x`), [{ x: want }]);
  });
}

test("parameters without a type take the one that the statement wants", async () => {
  assert.deepEqual(await rows("select title from items where _id = $1", [2]), [{ title: "blue hat" }]);
  assert.deepEqual(await rows("select _id from items where color = $1 and _id in ($2, $3)", ["red", 1, 2]), [
    { _id: "1" },
  ]);
  assert.deepEqual(await rows("select $1 as x", ["text"]), [{ x: "text" }]);
  assert.deepEqual(await rows("select $1 + 1 as x", [41]), [{ x: "42" }]);
  assert.deepEqual(await rows("select $1::int[] as x", [[1, 2, null]]), [{ x: [1, 2, null] }]);
  assert.deepEqual(await rows("select _id from items where _id = any($1) order by 1", [[3, 1]]), [
    { _id: "1" },
    { _id: "3" },
  ]);
  assert.deepEqual(await rows("select $1::bytea as x", [Buffer.from([0, 255])]), [{ x: Buffer.from([0, 255]) }]);
  assert.deepEqual(await rows("select $1::jsonb as x, $2::bool as y", [{ a: 1 }, true]), [{ x: { a: 1 }, y: true }]);
  assert.deepEqual(await rows("select $1::text as x", [null]), [{ x: null }]);
  const date = new Date("2024-02-29T12:34:56.789Z");
  assert.deepEqual(await rows("select $1::timestamptz as x", [date]), [{ x: date }]);
});

test("an array is the vector of a search", async () => {
  const search = "select _id from vector_search(items, $1, v, 2)";
  assert.deepEqual(await rows(search, [[1, 0, 0]]), [{ _id: "1" }, { _id: "2" }]);
  assert.deepEqual(await rows(search, ["[0, 0.5, 0]"]), [{ _id: "2" }, { _id: "1" }]);
  const both = "select _id from rrf(vector_search(items, $1, v, 3), text_search(items, $2, title, 3)) where color = $3";
  assert.equal((await rows(both, [[1, 0, 0], "red", "red"])).length, 2);
});

test("a statement with a name is prepared once and run again", async () => {
  for (const id of [1, 2, 3]) {
    const found = await client.query({ name: "by-id", text: "select _id from items where _id = $1", values: [id] });
    assert.deepEqual(found.rows, [{ _id: String(id) }]);
  }
});

test("a prepared statement whose columns have changed since says so", async () => {
  const shop = await makeShop(server.url, "changing");
  const changing = postgres({ ...server.postgres, user: "test", database: "changing", max: 1 });
  try {
    const find = () => changing`select * from late where ${1} = 1`;
    await shop.made("late", { fields: [{ name: "n", source_path: "n", kind: "keyword" }] });
    assert.equal((await find()).columns.length, 3);
    const dropped = await ask(shop.of("late"), { method: "DELETE" });
    assert.equal(dropped.status, 200, dropped.text);
    await shop.made("late", { vectors: [{ name: "n", dim: 2, distance: "cosine" }] });
    await assert.rejects(find(), { code: "0A000", message: "cached plan must not change result type" });
  } finally {
    await changing.end();
  }
});

test("several statements in one text are each answered", async () => {
  const answers = (await client.query("select 1 as a; select 2 as b;; select 3 as c")) as unknown as pg.QueryResult[];
  assert.deepEqual(
    answers.map(({ rows }) => rows),
    [[{ a: 1 }], [{ b: 2 }], [{ c: 3 }]],
  );
  assert.equal((await client.query("  -- nothing\n ;")).rows.length, 0);
});

for (const [query, code, position] of [
  ["selec 1", "42601", 1],
  ["select * from nope", "42P01", 15],
  ["select 'é🧦', nope from items", "42703", 14],
  ["select 1; select nope from items", "42703", 18],
  ["select no_such_function(1)", "42883", 8],
  ["insert into items values (1)", "25006", undefined],
  ["drop table items", "25006", undefined],
  ["select * from read_csv('/etc/passwd')", "42501", 15],
  ["select color, count(*) from items", "42803", 8],
  ["listen x", "0A000", undefined],
  ["select 'x'::int", "22P02", undefined],
  ["set client_encoding = latin1", "22023", undefined],
  ["set no_such_setting = 1", "42704", undefined],
] as const) {
  test(`${query} is refused with ${code}`, async () => {
    const error = await failure(query);
    assert.equal(error.code, code, error.message);
    if (position !== undefined) assert.equal(error.position, String(position), error.message);
  });
}

test("a transaction goes through its states and takes nothing after an error", async () => {
  await client.query("begin");
  await client.query("savepoint a");
  assert.equal((await failure("select nope")).code, "42703");
  assert.equal((await failure("select 1")).code, "25P02");
  await client.query("rollback to savepoint a");
  assert.deepEqual(await rows("select 1 as x"), [{ x: 1 }]);
  assert.equal((await failure("select nope")).code, "42703");
  assert.equal((await client.query("commit")).command, "ROLLBACK");
  assert.deepEqual(await rows("select 1 as x"), [{ x: 1 }]);
});

test("settings are kept for the session, and for the transaction that sets them", async () => {
  await client.query("set application_name = 'mine'");
  assert.deepEqual(await rows("show application_name"), [{ application_name: "mine" }]);
  await client.query("begin; set local search_path = x; commit");
  assert.deepEqual(await rows("show search_path"), [{ search_path: "collections" }]);
  await client.query("begin; set search_path = x; rollback");
  assert.deepEqual(await rows("select current_setting('search_path')"), [{ current_setting: "collections" }]);
  await client.query("select set_config('my.own', 'v', false)");
  assert.deepEqual(await rows("show my.own"), [{ "my.own": "v" }]);
  await client.query("discard all");
  assert.deepEqual(await rows("show application_name"), [{ application_name: "" }]);
});

test("statement_timeout ends a statement, and the session goes on", async () => {
  await client.query("set statement_timeout = '50ms'");
  const error = await failure("select count(*) from range(100000000000) a where a.range % 7 = 3");
  assert.equal(error.code, "57014");
  assert.match(error.message, /statement timeout/);
  await client.query("reset statement_timeout");
  assert.deepEqual(await rows("select 1 as x"), [{ x: 1 }]);
});

test("a running statement is cancelled by its key", async () => {
  const running = sql`select count(*) from range(100000000000) a where a.range % 7 = 3`;
  const ended = running.then(
    () => assert.fail("it was answered"),
    (error: { code: string }) => error.code,
  );
  // The driver sends the request for it over a connection of its own.
  setTimeout(() => running.cancel(), 100);
  assert.equal(await ended, "57014");
  assert.deepEqual([...(await sql`select 1 as x`)], [{ x: 1 }]);
});

test("postgres.js takes values, transactions and cursors", async () => {
  assert.deepEqual([...(await sql`select title from items where _id = ${2}`)], [{ title: "blue hat" }]);
  assert.deepEqual([...(await sql`select ${[1, 2]}::int[] as x, ${"a"} as y`)], [{ x: [1, 2], y: "a" }]);
  const both = await sql.begin(async (tx) => [...(await tx`select 1 as x`), ...(await tx`select 2 as x`)]);
  assert.deepEqual(both, [{ x: 1 }, { x: 2 }]);
  const sizes: number[] = [];
  await sql`select * from range(2500) t(i)`.cursor(1000, (part) => {
    sizes.push(part.length);
  });
  assert.deepEqual(sizes, [1000, 1000, 500]);
});

test("cursors of SQL are fetched from and moved", async () => {
  assert.equal((await failure("declare c cursor for select 1")).code, "25P01");
  await client.query("begin; declare c cursor for select i from range(10) t(i)");
  assert.deepEqual(await rows("fetch 2 from c"), [{ i: "0" }, { i: "1" }]);
  assert.equal((await client.query("move forward 3 in c")).command, "MOVE");
  assert.deepEqual(await rows("fetch c"), [{ i: "5" }]);
  assert.equal((await rows("fetch all from c")).length, 4);
  assert.equal((await rows("fetch all from c")).length, 0);
  await client.query("close c");
  assert.equal((await failure("fetch c")).code, "34000");
  await client.query("rollback");
});

test("a large result comes whole", async () => {
  const { rows } = await client.query("select i, repeat('x', 100) as t from range(100000) t(i)");
  assert.equal(rows.length, 100_000);
  assert.deepEqual(rows.at(-1), { i: "99999", t: "x".repeat(100) });
});

test("names of columns are those that Postgres gives", async () => {
  const { fields } = await client.query(
    "select count(*), max(_id), 1, 'x', _id::text, now(), version() from items group by 5",
  );
  assert.deepEqual(
    fields.map(({ name }) => name),
    ["count", "max", "?column?", "?column?", "_id", "now", "version"],
  );
});

test("the namespaces are the databases, and one that is not there is refused", async () => {
  assert.deepEqual(await rows("select datname from pg_database where datname = 'shop'"), [{ datname: "shop" }]);
  assert.deepEqual(await rows("select current_database(), current_schema(), current_user"), [
    { current_database: "shop", current_schema: "collections", current_user: "test" },
  ]);
  const lost = new pg.Client({ ...server.postgres, user: "test", database: "nowhere" });
  await assert.rejects(lost.connect(), { code: "3D000" });
});
