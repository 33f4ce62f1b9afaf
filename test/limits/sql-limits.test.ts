import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, ask, base64 } from "../support/http.ts";
import { ServerProcess, type StartOptions } from "../support/process.ts";
import { assertError, eventually } from "../support/streams.ts";

/** Time, memory, rows and turns of SQL statements: passing a limit is an error that says so, and harms nobody else. */

/** Works for hours, if it is let. */
const endless = "select sum(a.range % (b.range + 1)) from range(1000000000) a, range(100000) b";

async function start(env: NonNullable<StartOptions["env"]>): Promise<ServerProcess> {
  const server = await ServerProcess.start({ env });
  assert.equal((await ask(`${server.url}/v1/namespaces`, { body: { name: "n" } })).status, 201);
  return server;
}

function sql(server: ServerProcess, query: string, signal?: AbortSignal): Promise<Answer> {
  return ask(`${server.url}/v1/namespaces/n/sql`, { body: { query }, ...(signal === undefined ? {} : { signal }) });
}

test("values that nest too deep are refused, by their text and as parameters", async () => {
  await using server = await start({});
  const list = (levels: number) => `${"[".repeat(levels)}1${"]".repeat(levels)}`;
  const struct = (levels: number) => `${"{'a':".repeat(levels)}1${"}".repeat(levels)}`;
  for (const make of [list, struct]) {
    assert.equal((await sql(server, `select ${make(100)} as x`)).status, 200);
    assertError(await sql(server, `select ${make(101)} as x`), 400, "invalid_argument", "query");
    assertError(await sql(server, `select ${make(400)} as x`), 400, "invalid_argument", "query");
  }
  const body = (levels: number) => ({ query: "select ? as x", params: [JSON.parse(list(levels)) as unknown] });
  const url = `${server.url}/v1/namespaces/n/sql`;
  assert.equal((await ask(url, { body: body(64) })).status, 200);
  assertError(await ask(url, { body: body(65) }), 400, "invalid_argument", "params[0]");
  assertError(await ask(url, { body: body(1_000) }), 400, "invalid_argument", "params[0]");
  const infinite = '{"query":"select ? as x, ? as y","params":[1,[[0.5],[1e999]]]}';
  assertError(await ask(url, { body: infinite }), 400, "invalid_argument", "params[1][1][0]");
  const long = await sql(server, "x".repeat(50_000));
  assertError(long, 400, "invalid_argument", "query");
  assert.ok(long.text.length < 4_000, `${long.text.length} characters`);
});

test("values of many items are told whole", async () => {
  await using server = await start({});
  const query = `select range(5000) as list, {'a': range(2000), 'b': [[1, 2], null, []], 'c': null} as struct,
    map(range(1500), range(1500)) as map, list_transform(range(3000), lambda x: '{"n":1.50}'::json) as json, [] as none`;
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
  const { status, text, json } = await sql(server, query);
  assert.equal(status, 200, text);
  const [row] = json.rows as [Record<string, unknown>];
  assert.deepEqual(row["list"], numbers(5_000));
  assert.deepEqual(row["struct"], { a: numbers(2_000), b: [[1, 2], null, []], c: null });
  assert.deepEqual(row["map"], Object.fromEntries(numbers(1_500).map((i) => [i, i])));
  assert.deepEqual(row["none"], []);
  assert.equal(text.split('{"n":1.50}').length, 3_001, "numbers stay as they were written");
  assert.equal(json.row_count, 1);
});

test("a statement that would be bound for longer than any time limit is refused at once", async () => {
  await using server = await start({});
  const nested = (levels: number, open: string, inner: string, close: string) =>
    `select ${open.repeat(levels)}${inner}${close.repeat(levels)} as x`;
  const chain = (levels: number, how: string, select: (from: string) => string) => {
    const parts = Array.from({ length: levels }, (_, i) => `c${i + 1} as ${how} (${select(`c${i}`)})`);
    return `with c0 as ${how} (select 1 as x), ${parts.join(", ")} select x from c${levels}`;
  };
  const structure = (levels: number) =>
    `select from_json('null', '${"[".repeat(levels)}"INT"${"]".repeat(levels)}') as x`;
  const sum = (from: string) => `select sum(x) as x from ${from}`;
  const twice = (from: string) => `select a.x from ${from} a, ${from} b`;
  const joined = (tables: number) => {
    const names = Array.from({ length: tables }, (_, i) => `t${i}`);
    return `select ${tables} as x from ${names.map((name) => `range(1) ${name}(y)`).join(", ")}`;
  };
  const row = (value: unknown) => ({ rows: [{ x: value }] });
  for (const [query, told] of [
    [nested(16, "(select ", "1", ")"), row(1)],
    [nested(17, "(select ", "1", ")"), /16 levels/],
    [nested(40, "exists(select 1 where ", "true", ")"), /16 levels/],
    [chain(16, "", sum), row(1)],
    [chain(300, "", sum), /16 levels/],
    [chain(60, "", (from) => `select list(x) as x from ${from}`), /16 levels/],
    [chain(40, "", (from) => `select x from ${from} where x > 0`), row(1)],
    [chain(8, "not materialized", twice), row(1)],
    [chain(60, "not materialized", twice), /1000 queries and tables/],
    [joined(30), row(30)],
    [joined(61), /60 tables/],
    [structure(100), row(null)],
    [structure(900), /100 levels/],
    ["select from_json('1', repeat('[', 900) || '1') as x", /must be written out/],
    [`select null::int${"[]".repeat(400)} as x`, /100 levels/],
    [`select ${"1+".repeat(99)}1 as x`, row(100)],
    [`select ${"1+".repeat(900)}1 as x`, /^query: Max expression depth limit of 250 exceeded\.$/],
  ] as const) {
    const done = await sql(server, query);
    if (told instanceof RegExp) {
      assertError(done, 400, "invalid_argument", "query");
      assert.match(done.json.message, told, query.slice(0, 100));
    } else {
      assert.deepEqual({ rows: done.json.rows }, told, `${query.slice(0, 100)}: ${done.text.slice(0, 300)}`);
    }
  }
});

test("a statement that takes too long is stopped", async () => {
  await using server = await start({ SERVICE_SQL_TIME: "2s" });
  const done = await sql(server, endless);
  assertError(done, 503, "unavailable");
  assert.match(done.json.message, /SERVICE_SQL_TIME/);
  assert.deepEqual(done.json.sql, { kind: "timeout" });
  assert.deepEqual((await sql(server, "select 1 as x")).json.rows, [{ x: 1 }]);
});

test("a statement that needs too much memory is refused", async () => {
  await using server = await start({ SERVICE_SQL_MEMORY_BYTES: String(32 * 1024 * 1024) });
  const done = await sql(server, "select len(list(range)) from range(100000000)");
  assertError(done, 429, "resource_exhausted");
  assert.match(done.json.message, /SERVICE_SQL_MEMORY_BYTES/);
  assert.equal(done.headers.get("retry-after"), "1");
  assert.deepEqual((await sql(server, "select 1 as x")).json.rows, [{ x: 1 }]);
});

test("a result has at most so many rows", async () => {
  await using server = await start({ SERVICE_SQL_ROWS_MAX: "1000" });
  assert.equal((await sql(server, "select * from range(1000)")).json.row_count, 1000);
  const done = await sql(server, "select * from range(1001)");
  assertError(done, 400, "invalid_argument", "query");
  assert.match(done.json.message, /SERVICE_SQL_ROWS_MAX/);
});

test("a statement reads at most so much of streams", async () => {
  await using server = await start({ SERVICE_SQL_STREAM_BYTES: "2000" });
  const streams = `${server.url}/v1/namespaces/n/streams`;
  assert.equal((await ask(streams, { body: { name: "s", partitions: 2 } })).status, 201);
  for (const partition of [0, 1]) {
    for (const at of [0, 1]) {
      const records = [{ value: base64(String(at).repeat(700)) }];
      const done = await ask(`${streams}/s/partitions/${partition}/records`, { body: { records } });
      assert.equal(done.status, 200, done.text);
    }
  }
  const refused = await sql(server, "select count(*) from streams.s");
  assertError(refused, 400, "invalid_argument", "query");
  assert.match(refused.json.message, /partition, offset or timestamp/);
  const narrowed = await sql(server, 'select count(*) as c from streams.s where "partition" = 1');
  assert.deepEqual(narrowed.json.rows, [{ c: 2 }]);
  const limited = await sql(server, "select * from streams.s limit 1");
  assert.equal(limited.json.row_count, 1);
});

test("beyond the queue a statement is refused, and a client that goes away ends its own", async () => {
  await using server = await start({ SERVICE_SQL_RUNNING_MAX: "1", SERVICE_SQL_WAITING_MAX: "0" });
  const leaving = new AbortController();
  const running = sql(server, endless, leaving.signal).catch(() => undefined);
  const refused = await eventually(
    () => sql(server, "select 1 as x"),
    ({ status }) => status === 429,
  );
  assertError(refused, 429, "resource_exhausted");
  assert.deepEqual(refused.json.sql, { kind: "busy" });
  leaving.abort();
  await running;
  await eventually(
    () => sql(server, "select 1 as x"),
    ({ status }) => status === 200,
  );
});

test("appends and reads go on while statements work as hard as they may", async () => {
  await using server = await start({});
  const streams = `${server.url}/v1/namespaces/n/streams`;
  assert.equal((await ask(streams, { body: { name: "s" } })).status, 201);
  const leaving = new AbortController();
  let ended = 0;
  const heavy = Array.from({ length: 6 }, () =>
    sql(server, endless, leaving.signal)
      .catch(() => undefined)
      .finally(() => ended++),
  );
  for (let i = 0; i < 50; i++) {
    const done = await ask(`${streams}/s/partitions/0/records`, { body: { records: [{ value: base64(String(i)) }] } });
    assert.equal(done.status, 200, done.text);
    assert.equal(done.json.base_offset, i);
  }
  const read = await ask(`${streams}/s/partitions/0/records?offset=0`);
  assert.equal(read.json.records.length, 50);
  assert.equal(ended, 0, "the statements are still under way");
  leaving.abort();
  await Promise.all(heavy);
  await eventually(
    () => sql(server, "select count(*) as c from streams.s"),
    ({ json }) => json?.rows?.[0]?.c === 50,
  );
  assert.equal(await server.stop(), 0);
});

test("a server with statements under way stops", async () => {
  await using server = await start({ SERVICE_DRAIN_TIMEOUT: "200ms" });
  const running = sql(server, endless).catch(() => undefined);
  await eventually(
    async () => (await ask(`${server.url}/metrics`)).text,
    (text) => /service_sql_running 1/.test(text),
  );
  assert.equal(await server.stop(), 0);
  await running;
});
