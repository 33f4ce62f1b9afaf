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

test("distances of pgvector's operators", async () => {
  const near = (operator: string) => `select _id from items order by v ${operator} $1 limit 2`;
  assert.deepEqual(await rows(near("<->"), [[1, 0, 0.4]]), [{ _id: "1" }, { _id: "3" }]);
  assert.deepEqual(await rows(near("<=>"), ["[0,1,0]"]), [{ _id: "2" }, { _id: "1" }]);
  assert.deepEqual(await rows("select v <#> '[2,0,0]'::vector(3) as d from items where _id = 1"), [{ d: -2 }]);
  assert.deepEqual(await rows("select typname from pg_type where oid = to_regtype('vector')"), [{ typname: "vector" }]);
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
  ["notify x", "0A000", undefined],
  ["select * from items for update", "0A000", 21],
  ["select 1/0", "22012", undefined],
  ["select 5 % (1 - 1)", "22012", undefined],
  ["execute nothing", "26000", undefined],
  ["explain (format yaml) select 1", "0A000", undefined],
  ["explain select nope from items", "42703", 16],
  ["select 'x'::int", "22P02", undefined],
  ["select 'nope'::regclass", "42P01", undefined],
  ["select oid from pg_class where oid = 'streams.nope'::regclass", "42P01", undefined],
  ["select 'nope'::regtype", "22P02", undefined],
  ["select 'now'::regproc::oid", "0A000", 22],
  ["set client_encoding = latin1", "22023", undefined],
  ["set no_such_setting = 1", "42704", undefined],
] as const) {
  test(`${query} is refused with ${code}`, async () => {
    const error = await failure(query);
    assert.equal(error.code, code, error.message);
    if (position !== undefined) assert.equal(error.position, String(position), error.message);
  });
}

test("a column that every table of Postgres has is refused with a hint", async () => {
  for (const column of ["xmin", "items.ctid"]) {
    const error = await failure(`select ${column} from items`);
    assert.equal(error.code, "42703");
    assert.match(error.hint ?? "", /no system columns/);
  }
});

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

test("a cursor that scrolls goes anywhere, another only forward", async () => {
  const ids = async (fetch: string) => (await rows(fetch)).map((row) => (row as { i: string }).i).join("");
  await client.query("begin; declare c scroll cursor for select i from range(5) t(i); declare d cursor for select 1");
  for (const [fetch, want] of [
    ["fetch 2 c", "01"],
    ["fetch last from c", "4"],
    ["fetch prior from c", "3"],
    ["fetch backward all from c", "210"],
    ["fetch c", "0"],
    ["fetch absolute 3 c", "2"],
    ["fetch relative -1 c", "1"],
    ["fetch relative 0 c", "1"],
    ["fetch absolute 9 c", ""],
    ["fetch backward 2 in c", "43"],
    ["fetch absolute -5 c", "0"],
    ["fetch first c", "0"],
  ] as const) {
    assert.equal(await ids(fetch), want, fetch);
  }
  assert.equal((await failure("fetch prior d")).code, "55000");
  await client.query("rollback");
});

test("statements are prepared, executed and explained in SQL", async () => {
  await client.query("prepare p (bigint, text) as select title, $2 as said from items where _id = $1");
  assert.deepEqual(await rows("execute p(1 + 1, 'it''s, (so)')"), [{ title: "blue hat", said: "it's, (so)" }]);
  assert.equal((await failure("prepare p as select 1")).code, "42P05");
  assert.equal((await failure("execute p(1)")).code, "42601");
  const [plan] = (await rows("explain (verbose, format json) execute p(null, null)")) as { "QUERY PLAN": object[] }[];
  assert.ok("Plan" in plan!["QUERY PLAN"][0]!);
  const lines = (await rows("explain analyze select 1")) as { "QUERY PLAN": string }[];
  assert.ok(lines.length > 1);
  await client.query("prepare one as select 1 as x");
  assert.deepEqual(await rows("execute one"), [{ x: 1 }]);
  await client.query("deallocate one");
  await client.query("prepare one as select 2 as x");
  assert.deepEqual(await rows("execute one"), [{ x: 2 }]);
  await client.query("deallocate all");
});

for (const [expression, want] of [
  ["20 = any('{int,int8}'::regtype[])", true],
  ["pg_get_serial_sequence('items'::regclass::text, 'a')::regclass", null],
  ["2 = any('{1,2}')", true],
  ["'b,c' = any('{a,\"b,c\"}')", true],
  ["array[20, 25]::regtype[]::text[]", ["bigint", "text"]],
  ["26::oid", 26],
  ["array[1, 2]::oid[]", [1, 2]],
  ["format('%s-%I-%L%%', 1, 'a b', null)", '1-"a b"-NULL%'],
  ["'abc' similar to '(a|x)%'", true],
  ["'abc' similar to 'a_'", false],
  ["'a_b' like 'a\\_b'", true],
  ["'axb' like 'a\\_b'", false],
  ["'50% off' ilike '50\\% O' || 'ff'", true],
  ["'axb' not like 'a\\_b'", true],
  ["'a_b' not ilike 'A\\_%'", false],
  ["'a\\b' like 'a\\\\b'", true],
  ["'abc' like 'a%' and 'abc' not like 'b%' and null like 'a' is null", true],
  ["encode('\\x00ff'::bytea, 'hex')", "00ff"],
  ["encode(cast('\\xDEAD beef' as bytea), 'hex')", "deadbeef"],
  ["encode(bytea '\\000\\377a\\\\b', 'hex')", "00ff615c62"],
  ["'\\x00ff'::bytea = decode('00ff', 'hex')", true],
  ["encode('ä'::bytea, 'hex')", "c3a4"],
  [
    "(select string_agg(typreceive, ' ' order by oid) from pg_type where typname in ('bool', 'date', '_int4', 'uuid'))",
    "boolrecv array_recv date_recv uuid_recv",
  ],
  ["to_char(timestamp '2024-02-09 15:04:05.6', 'YYYY-MM-DD HH24:MI:SS.MS')", "2024-02-09 15:04:05.600"],
  ["to_char(date '2024-02-09', 'FMMonth FMDD, \"year\" YYYY Dy Q')", "February 9, year 2024 Fri 1"],
  ["to_char(1234.567, 'FM999,999.00')", "1,234.57"],
  ["to_char(-5, '999')", "  -5"],
  ["to_char(12, '0000')", " 0012"],
  ["to_char(7.5, 'FM000.00')", "007.50"],
  ["to_char(null::timestamp, 'YYYY')", null],
  ["to_date('09.02.2024', 'DD.MM.YYYY')::text", "2024-02-09"],
  ["to_timestamp('2024-02-09 15', 'YYYY-MM-DD HH24')::text", "2024-02-09 15:00:00+00"],
  ["'{\"a\":{\"b\":[1,2]}}'::jsonb #>> '{a,b,1}'", "2"],
  ["'{\"a\":{\"b\":[1,2]}}'::jsonb #> array['a']", { b: [1, 2] }],
  [
    "jsonb_typeof('1') || ' ' || json_typeof('-1.5') || ' ' || jsonb_typeof('\"a\"') || ' ' || jsonb_typeof('{}')",
    "number number string object",
  ],
  ["jsonb_typeof('[]') || ' ' || jsonb_typeof('true') || ' ' || jsonb_typeof('null')", "array boolean null"],
  ["jsonb_typeof(null)", null],
  ["overlay('abcdef' placing 'XY' from 2 for 1)", "aXYcdef"],
  ["width_bucket(5.35, 0.024, 10.06, 5)", 3],
  [
    "pg_typeof(1::oid) || ' ' || pg_typeof(array[1.5]) || ' ' || pg_typeof(now())",
    "oid numeric[] timestamp with time zone",
  ],
  ["parse_ident('\"A b\".C')", ["A b", "c"]],
  ["substring('foobar' from 'o(.)b')", "o"],
  ["encode('a'::bytea, 'hex')", "61"],
  ["current_schema()", "collections"],
  ["'streams.orders'::regclass::oid::regclass::text", "streams.orders"],
  ["initcap('o''NEIL x_y 2nd älter')", "O'Neil X_Y 2nd Älter"],
  ["'items'::regclass", "items"],
  ["'items'::regclass::text", "items"],
  ["'pg_class'::regclass::oid", 1259],
  ["to_regclass('nope')", null],
  ["null::regclass", null],
] as const) {
  test(`${expression} is what Postgres gives`, async () => {
    assert.deepEqual(await rows(`select ${expression} as x`), [{ x: want }]);
  });
}

test("sets are rows in a select list and in FROM", async () => {
  for (const [query, want] of [
    ["select generate_series(1, 3) as x", [1, 2, 3]],
    ["select generate_series as x from generate_series(1, 2)", [1, 2]],
    ["select jsonb_array_elements('[1,2]')::text as x", ["1", "2"]],
    ["select e.value ->> 'a' as x from jsonb_array_elements('[{\"a\":1}]') e", ["1"]],
    ["select x from unnest(array[4, 5]) x", [4, 5]],
    ["select string_to_array as x from string_to_array('a,b', ',')", [["a", "b"]]],
    ["select string_to_table('a,b', ',') as x", ["a", "b"]],
    ["select abs(generate_series(-2, -1)) as x", [2, 1]],
    ["select upper(unnest(array['a', 'b'])) as x, count(*) from items group by 1 order by x", ["A", "B"]],
    ["select count(*), length(upper(string_to_table(color, 'e'))) as x from items group by x order by x", [0, 1, 3]],
    ["select list_sum(generate_series(1, 4)) as x", [10]],
  ] as const) {
    assert.deepEqual(
      (await rows(query)).map((row) => {
        const { x } = row as { x: unknown };
        return typeof x === "string" && /^\d+$/.test(x) && typeof want[0] === "number" ? Number(x) : x;
      }),
      want,
      query,
    );
  }
});

test("a search path says where bare names are looked for", async () => {
  await client.query("set search_path = streams");
  assert.deepEqual(await rows("select key from orders"), [{ key: "k" }]);
  assert.equal((await failure("select * from items")).code, "42P01");
  await client.query("set search_path = streams, collections");
  assert.deepEqual(await rows("select count(*)::int as n from items, orders"), [{ n: 3 }]);
  assert.deepEqual(await rows("with orders as (select 7 as x) select * from orders"), [{ x: 7 }]);
  await client.query("reset search_path");
  assert.equal((await failure("select * from orders")).code, "42P01");
  const seen = await rows("select relname from pg_class where relkind = 'r' and pg_table_is_visible(oid)");
  assert.deepEqual(seen, [{ relname: "items" }]);
});

test("the key of a collection is told", async () => {
  const key =
    "select conname, conkey, pg_get_constraintdef(oid) as def from pg_constraint where conrelid = 'items'::regclass";
  assert.deepEqual(await rows(key), [{ conname: "items_pkey", conkey: [1], def: "PRIMARY KEY (_id)" }]);
  const usage = "select column_name from information_schema.key_column_usage where table_name = 'items'";
  assert.deepEqual(await rows(usage), [{ column_name: "_id" }]);
});

test("NULL is larger than every value in an order that does not say so", async () => {
  const ordered = async (order: string) =>
    (await rows(`select x from (values (1), (null), (2)) t(x) order by x ${order}`)).map(
      (row) => (row as { x: unknown }).x,
    );
  assert.deepEqual(await ordered(""), [1, 2, null]);
  assert.deepEqual(await ordered("desc"), [null, 2, 1]);
  assert.deepEqual(await ordered("desc nulls last"), [2, 1, null]);
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
