import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { ask } from "../support/http.ts";
import { ServerProcess, type StartOptions } from "../support/process.ts";
import { assertError, eventually } from "../support/streams.ts";

/** Statements that crash, never end or take all memory cost themselves and nothing else. */

/** Works for hours, where nothing that runs could be interrupted: while a retriever's argument is worked out. */
const endlessArgument = `select * from text_search(docs, ${["w", "x", "y", "z"].reduceRight(
  (inner, name) => `list_sum(list_transform(range(1000), ${name} -> ${inner}))`,
  "(w * x * y * z) % 7",
)}::varchar, title, 1)`;
const endless = "select sum(a.range % (b.range + 1)) from range(1000000000) a, range(100000) b";

async function start(env: NonNullable<StartOptions["env"]> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start({ env });
  for (const name of ["n", "other"]) {
    assert.equal((await ask(`${server.url}/v1/namespaces`, { body: { name } })).status, 201);
  }
  return server;
}

const sql = (server: ServerProcess, query: string, namespace = "n") =>
  ask(`${server.url}/v1/namespaces/${namespace}/sql`, { body: { query } });

async function metric(server: ServerProcess, name: string): Promise<number> {
  const { text } = await ask(`${server.url}/metrics`);
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

async function working(server: ServerProcess, statements: number): Promise<void> {
  await eventually(
    () => metric(server, "service_sql_running"),
    (running) => running === statements,
  );
}

const crashed = 'service_sql_processes_lost_total{why="crashed"}';

/** Ends all processes of statements but the spare, as a fault in their native code does, and waits until that is known. */
async function crash(server: ServerProcess): Promise<void> {
  await eventually(
    () => metric(server, 'service_sql_processes{state="spare"}'),
    (spares) => spares === 1,
  );
  const before = await metric(server, crashed);
  const { pid } = server.child;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ");
  // The spare was started last.
  children.pop();
  for (const child of children) process.kill(Number(child), "SIGSEGV");
  await eventually(
    () => metric(server, crashed),
    (now) => now >= before + children.length,
  );
}

const isLinux = existsSync("/proc/self/task");

test("a statement whose process is gone gets an error; its session and others' statements go on", {
  skip: !isLinux,
}, async () => {
  await using server = await start();
  const postgres = new pg.Client({ ...server.postgres, user: "t", database: "n" });
  // A server that ends before its client does is told of by what fails here.
  postgres.on("error", () => {});
  await postgres.connect();
  const mysql = await createConnection({ ...server.mysql, user: "t", database: "n" });
  for (const [run, isLost] of [
    [() => postgres.query(endless), (error: { code?: string }) => error.code === "58000"],
    [() => mysql.query(endless), (error: { sqlState?: string }) => error.sqlState === "58000"],
    [() => sql(server, endless).then((done) => assertError(done, 503, "unavailable")), undefined],
  ] as const) {
    // One whose process only starts is begun again.
    assert.deepEqual((await sql(server, "select 1 as x")).json.rows, [{ x: 1 }]);
    const running = run();
    running.catch(() => {});
    await working(server, 1);
    await crash(server);
    if (isLost === undefined) await running;
    else await assert.rejects(running, isLost);
    assert.deepEqual((await sql(server, "select 2 as x", "other")).json.rows, [{ x: 2 }]);
  }
  assert.deepEqual((await postgres.query("select 3 as x")).rows, [{ x: 3 }]);
  assert.deepEqual((await mysql.query("select 4 as x"))[0], [{ x: 4 }]);
  await postgres.end();
  await mysql.end();
});

test("what was not at fault is run again", { skip: !isLinux }, async () => {
  // All namespaces in one process.
  await using server = await start({ SERVICE_SQL_PROCESSES: "1", SERVICE_SQL_TIME: "4s" });
  await ask(`${server.url}/v1/namespaces/n/collections`, {
    body: { name: "docs", schema: { fields: [{ name: "title", kind: "text" }] } },
  });
  const late = sql(server, endlessArgument);
  await working(server, 1);
  // Waits for the parser, which the first holds up.
  const innocent = sql(server, "select 1 as x", "other");
  assertError(await late, 503, "unavailable");
  assert.deepEqual((await innocent).json.rows, [{ x: 1 }]);
  assert.equal(await metric(server, 'service_sql_processes_lost_total{why="late"}'), 1);
});

test("two that were at work when a process crashed are tried one by one", { skip: !isLinux }, async () => {
  await using server = await start({ SERVICE_SQL_TIME: "20s" });
  assert.deepEqual((await sql(server, "select 1 as x")).json.rows, [{ x: 1 }]);
  const slow = "select count(*) as x from range(15000) a, range(15000) b where (a.range + b.range) % 7 = 3";
  const both = [sql(server, slow), sql(server, slow)];
  await working(server, 2);
  await crash(server);
  for (const done of await Promise.all(both))
    assert.ok(done.status === 200 || done.json.sql.kind === "timeout", done.text);
});

test("a server that is told to end ends, whatever its statements do", async () => {
  await using server = await start({ SERVICE_DRAIN_TIMEOUT: "1s" });
  await ask(`${server.url}/v1/namespaces/n/collections`, {
    body: { name: "docs", schema: { fields: [{ name: "title", kind: "text" }] } },
  });
  sql(server, endlessArgument).catch(() => {});
  await working(server, 1);
  assert.equal(await server.stop(), 0);
});

test("what takes memory that the database does not count is ended", { skip: !isLinux }, async () => {
  await using server = await start({ SERVICE_SQL_MEMORY_BYTES: String(64 * 1024 * 1024), SERVICE_SQL_TIME: "5m" });
  for (const query of ["select len(range(100000000)) as x", "select length(repeat('x', 1000000000)) as x"]) {
    const done = await sql(server, query);
    assertError(done, 429, "resource_exhausted");
    assert.equal(done.json.sql.kind, "memory");
    assert.deepEqual((await sql(server, "select 1 as x", "other")).json.rows, [{ x: 1 }]);
  }
});
