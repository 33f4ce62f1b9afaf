/** Asks the wires with Node's clients: node-clients.ts CLIENT HOST PORT. A line for each thing that it tries. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createConnection as createStreaming } from "mysql2";
import { createConnection, createPool } from "mysql2/promise";
import pg from "pg";
import postgres from "postgres";

const [name = "", host = "", port = ""] = process.argv.slice(2);
const ca = await readFile(process.env["INTEROP_CA"]!, "utf8");
const where = { host, port: Number(port), user: "tester", password: process.env["INTEROP_KEY"]!, database: "shop" };
const slow = "select count(*) from range(100000000000) a where a.range % 7 = 3";
const columnsOf =
  "select column_name, data_type from information_schema.columns where table_name = $1 order by ordinal_position";

async function told(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    console.log(what, "ok");
  } catch (error) {
    console.log(what, "no", String(error).replaceAll(/\s+/g, " ").slice(0, 300));
  }
}

async function withPg(): Promise<void> {
  const client = new pg.Client(where);
  const rows = async (text: string, values: unknown[] = []) =>
    (await client.query({ text, values, rowMode: "array" })).rows as unknown[];
  await told("connect", () => client.connect());
  await told("types", async () => {
    const found = await rows("select true, 7, 'ä', array[1, 2], null, v from items where _id = 1");
    assert.deepEqual(found, [[true, 7, "ä", [1, 2], null, [1, 0, 0.5]]]);
  });
  await told("parameters", async () =>
    assert.deepEqual(await rows("select _id from items where _id = any($1) order by 1", [[3, 1]]), [["1"], ["3"]]),
  );
  await told("introspect", async () => {
    const { fields } = await client.query("select * from items");
    assert.deepEqual(
      fields.slice(0, 2).map((each) => [each.name, each.dataTypeID]),
      [
        ["_id", 20],
        ["title", 25],
      ],
    );
    assert.deepEqual((await rows(columnsOf, ["items"]))[0], ["_id", "bigint"]);
  });
  await told("cursors", async () => {
    await rows("begin");
    await rows("declare c scroll cursor for select i::int from range(10) t(i)");
    assert.deepEqual(await rows("fetch 2 from c"), [[0], [1]]);
    assert.deepEqual(await rows("fetch last from c"), [[9]]);
    await rows("commit");
  });
  await told("errors", () => assert.rejects(rows("select nope from items"), { code: "42703" }));
  await told("cancel", async () => {
    await rows("set statement_timeout = 300");
    await assert.rejects(rows(slow), { code: "57014" });
  });
  await client.end();
  await told("pool", async () => {
    const pool = new pg.Pool({ ...where, max: 4 });
    const found = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((i) => pool.query("select $1::int as i", [i])));
    assert.deepEqual(
      found.map((each) => each.rows[0].i),
      [1, 2, 3, 4, 5, 6, 7, 8],
    );
    await pool.end();
  });
  await told("tls", async () => {
    const other = new pg.Client({ ...where, ssl: { ca } });
    await other.connect();
    await other.end();
  });
}

async function withPostgres(): Promise<void> {
  const sql = postgres({ ...where, max: 4 });
  await told("connect", () => sql`select 1`);
  await told("types", async () => {
    const [row] = await sql`select true as a, 7 as b, 'ä' as c, v from items where _id = 1`;
    assert.deepEqual({ ...row }, { a: true, b: 7, c: "ä", v: [1, 0, 0.5] });
  });
  await told("parameters", async () =>
    assert.deepEqual([...(await sql`select title from items where _id = ${2}`.values())], [["blue hat"]]),
  );
  await told("introspect", async () => {
    const { types, columns } = await sql`select * from items where _id = ${1}`.describe();
    assert.deepEqual([types, columns[0]?.name, columns[0]?.type], [[20], "_id", 20]);
    assert.deepEqual({ ...(await sql.unsafe(columnsOf, ["items"]))[0] }, { column_name: "_id", data_type: "bigint" });
  });
  await told("cursors", async () => {
    let count = 0;
    await sql`select i from range(250) t(i)`.cursor(100, (rows) => {
      count += rows.length;
    });
    assert.equal(count, 250);
  });
  await told("copy", async () => {
    const parts = await Array.fromAsync(await sql`copy (select 1, 'a') to stdout`.readable());
    assert.equal(Buffer.concat(parts as Buffer[]).toString(), "1\ta\n");
  });
  await told("cancel", async () => {
    const running = sql.unsafe(slow).execute();
    setTimeout(() => running.cancel(), 300);
    await assert.rejects(running, { code: "57014" });
  });
  await told("errors", () => assert.rejects(async () => sql`select nope from items`, { code: "42703" }));
  await told("pool", () => Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((i) => sql`select ${i}::int`)));
  await sql.end();
  await told("tls", async () => {
    const other = postgres({ ...where, max: 1, ssl: { ca } });
    await other`select 1`;
    await other.end();
  });
}

async function withMysql2(): Promise<void> {
  const pool = createPool({ ...where, connectionLimit: 4 });
  const rows = async (text: string, values: (string | number)[] = []) =>
    (await pool.execute({ sql: text, rowsAsArray: true }, values))[0] as unknown[][];
  await told("connect", () => pool.query("SELECT 1"));
  await told("introspect", async () => assert.deepEqual((await rows("SHOW TABLES"))[0], ["docs"]));
  await told("types", async () =>
    assert.deepEqual(await rows("SELECT _id, title, price, sold FROM docs WHERE _id = 1"), [[1, "red apple", 1.5, 1]]),
  );
  await told("parameters", async () =>
    assert.deepEqual(await rows("SELECT _id FROM docs WHERE title = ?", ["grüner Apfel"]), [[2]]),
  );
  await told("cursors", async () => {
    const connection = createStreaming(where);
    const found = await Array.fromAsync(connection.query("SELECT range FROM range(10000)").stream());
    connection.end();
    assert.equal(found.length, 10_000);
  });
  await told("cancel", async () => {
    const connection = await pool.getConnection();
    const running = assert.rejects(connection.query(slow), { errno: 1317 });
    // One that comes before the statement ends nothing.
    const killing = setInterval(() => void pool.query(`KILL QUERY ${connection.threadId}`), 200);
    await running.finally(() => clearInterval(killing));
    connection.release();
  });
  await told("errors", () => assert.rejects(rows("SELECT nope FROM docs"), { errno: 1054 }));
  await told("pool", () => Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((i) => rows("SELECT ?", [i]))));
  await pool.end();
  await told("tls", async () => {
    const other = await createConnection({ ...where, ssl: { ca, verifyIdentity: true } });
    await other.query("SELECT 1");
    await other.end();
  });
}

const programs: Readonly<Record<string, () => Promise<void>>> = {
  pg: withPg,
  postgres: withPostgres,
  mysql2: withMysql2,
};
const about = await readFile(new URL(`../../node_modules/${name}/package.json`, import.meta.url), "utf8");
console.log("version", (JSON.parse(about) as { version: string }).version);
await programs[name]!();
