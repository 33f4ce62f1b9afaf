import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Connection, RowDataPacket } from "mysql2/promise";
import type { ServerProcess } from "../../support/process.ts";
import { connectTo, fillShop, startServer } from "./server.ts";

let server: ServerProcess;
let connection: Connection;

before(async () => {
  const started = await startServer();
  server = started.server;
  await fillShop(server.url);
  connection = await connectTo(started.port);
});
after(async () => {
  await connection.end();
  await server[Symbol.asyncDispose]();
});

async function rows(statement: string): Promise<RowDataPacket[]> {
  const [found] = await connection.query<RowDataPacket[]>(statement);
  return found;
}

test("SET takes several at once, names of character sets and expressions among them", async () => {
  await connection.query(
    "SET sql_mode=(SELECT CONCAT(@@sql_mode, ',NO_ENGINE_SUBSTITUTION')),time_zone='+00:00',NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;",
  );
  const [found] = await rows("SELECT @@sql_mode AS mode, @@collation_connection AS collation");
  assert.match(found!["mode"], /STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION$/);
  assert.equal(found!["collation"], "utf8mb4_unicode_ci");
  await connection.query("SET autocommit=1, @a = 1 + 2 * 3, @b = (SELECT COUNT(*) FROM docs), CHARACTER SET utf8mb4");
  assert.deepEqual(await rows("SELECT @a AS a, @b AS b"), [{ a: 7, b: 3 }]);
  await assert.rejects(connection.query("SET NAMES latin1"), { errno: 1115 });
  await assert.rejects(connection.query("SET @c = nope + 1"), { errno: 1054 });
});

test("statements are prepared, executed and dropped in SQL", async () => {
  await connection.query("PREPARE s FROM 'SELECT _id FROM docs WHERE _id < ? ORDER BY _id'");
  await connection.query("SET @most = 3");
  assert.deepEqual(await rows("EXECUTE s USING @most"), [{ _id: 1 }, { _id: 2 }]);
  await assert.rejects(connection.query("EXECUTE s"), { errno: 1210 });
  await connection.query("SET @text = 'SELECT 5 AS five'");
  await connection.query("PREPARE t FROM @text");
  assert.deepEqual(await rows("EXECUTE t"), [{ five: 5 }]);
  await connection.query("DEALLOCATE PREPARE s");
  await assert.rejects(connection.query("EXECUTE s USING @most"), { errno: 1243 });
  await assert.rejects(connection.query("PREPARE u FROM 'EXECUTE t'"), { errno: 1235 });
});

test("columns without a name are called as MySQL calls them", async () => {
  for (const [query, want] of [
    ["SELECT 'abc' REGEXP 'B'", { "'abc' REGEXP 'B'": 1 }],
    ['SELECT title NOT REGEXP "2" FROM docs WHERE _id = 1', { 'title NOT REGEXP "2"': 1 }],
    ['SELECT "q", _id FROM docs WHERE _id = 1', { q: "q", _id: 1 }],
    ["SELECT 'a' 'b'", { a: "ab" }],
    ["SELECT 'a_b' LIKE 'a\\_b' AS x, 'axb' LIKE 'a\\_b' AS y, 'axb' NOT LIKE 'a\\_b' AS z", { x: 1, y: 0, z: 1 }],
    ["SELECT UNIX_TIMESTAMP('2024-01-01 00:00:00') AS x", { x: 1_704_067_200 }],
  ] as const) {
    assert.deepEqual(await rows(query), [want], query);
  }
});

test("the time has as many digits as are asked for", async () => {
  const told = "SELECT CAST(NOW() AS CHAR) AS a, CAST(CURRENT_TIMESTAMP AS CHAR) AS b, CAST(CURTIME() AS CHAR) AS c";
  const [found] = await rows(told);
  for (const text of Object.values(found!)) assert.match(text, /\d\d:\d\d:\d\d(?:\+00)?$/);
  await connection.query("SELECT NOW(6), SYSDATE(6), CURRENT_TIMESTAMP(3), UTC_TIMESTAMP(6), CURTIME(2)");
});

test("tables are checked, and files and privileges asked for", async () => {
  assert.deepEqual(await rows("CHECK TABLE docs, `streams.events`"), [
    { Table: "shop.docs", Op: "check", Msg_type: "status", Msg_text: "OK" },
    { Table: "shop.streams.events", Op: "check", Msg_type: "status", Msg_text: "OK" },
  ]);
  await assert.rejects(connection.query("CHECK TABLE nope"), { errno: 1146 });
  const files =
    "SELECT FILE_NAME, EXTRA FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'UNDO LOG' GROUP BY FILE_NAME ORDER BY 1";
  assert.deepEqual(await rows(files), []);
  assert.deepEqual(await rows("SELECT c.host FROM mysql.columns_priv c, mysql.tables_priv t WHERE c.db = t.db"), []);
  assert.deepEqual(await rows("SELECT 1 TYPE, _id KEY FROM docs WHERE _id = 1"), [{ TYPE: 1, KEY: 1 }]);
});
