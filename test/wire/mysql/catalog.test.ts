import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Connection } from "mysql2/promise";
import type { ServerProcess } from "../../support/process.ts";
import { connectTo, fillShop, refused, rows, startServer } from "./server.ts";

describe("what tools ask about the server, its tables and the session", () => {
  let server: ServerProcess;
  let port: number;
  let connection: Connection;

  before(async () => {
    ({ server, port } = await startServer());
    await fillShop(server.url);
    connection = await connectTo(port);
  });

  after(async () => {
    await connection?.end();
    await server?.[Symbol.asyncDispose]();
  });

  const all = (sql: string, params?: readonly string[]) => rows(connection, sql, params);

  for (const [sql, want] of [
    ["SHOW DATABASES", [{ Database: "information_schema" }, { Database: "shop" }]],
    ["SHOW SCHEMAS LIKE 'sh%'", [{ Database: "shop" }]],
    ["SHOW TABLES", [{ Tables_in_shop: "docs" }, { Tables_in_shop: "streams.events" }]],
    ["SHOW FULL TABLES FROM `shop` LIKE 'd_cs'", [{ Tables_in_shop: "docs", Table_type: "BASE TABLE" }]],
    [
      "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE' AND NOT Tables_in_shop LIKE 'streams.%'",
      [{ Tables_in_shop: "docs", Table_type: "BASE TABLE" }],
    ],
    [
      "SHOW COLUMNS FROM docs LIKE '\\_id'",
      [{ Field: "_id", Type: "bigint", Null: "NO", Key: "PRI", Default: null, Extra: "" }],
    ],
    [
      "DESCRIBE shop.docs sold",
      [{ Field: "sold", Type: "tinyint(1)", Null: "YES", Key: "", Default: null, Extra: "" }],
    ],
    [
      "SHOW VARIABLES WHERE Variable_name = 'autocommit' OR Variable_name IN ('port_of_nothing', 'wait_timeout')",
      [
        { Variable_name: "autocommit", Value: "ON" },
        { Variable_name: "wait_timeout", Value: "28800" },
      ],
    ],
    ["SHOW WARNINGS", []],
    ["SHOW COUNT(*) WARNINGS", [{ "@@session.warning_count": 0 }]],
    ["SHOW TRIGGERS FROM shop", []],
    ["SHOW PROCEDURE STATUS WHERE Db = 'shop'", []],
    ["SELECT @@autocommit, @@session.sql_auto_is_null AS x", [{ "@@autocommit": 1, x: 0 }]],
    ["SELECT DATABASE(), SCHEMA() AS s", [{ "DATABASE()": "shop", s: "shop" }]],
    ["SELECT LAST_INSERT_ID() AS x, NULL AS y, 'a' AS `z`, 7 FROM dual", [{ x: 0, y: null, z: "a", "7": 7 }]],
    ["SELECT 1 FROM docs WHERE DATABASE() = 'shop' LIMIT 1", [{ "1": 1 }]],
  ] as const) {
    test(sql, async () => assert.deepEqual(await all(sql), want));
  }

  test("the other SHOWs answer with their columns", async () => {
    for (const [sql, column] of [
      ["SHOW FULL COLUMNS FROM docs", "Collation"],
      ["SHOW INDEX FROM docs FROM shop", "Key_name"],
      ["SHOW CREATE TABLE docs", "Create Table"],
      ["SHOW CREATE DATABASE shop", "Create Database"],
      ["SHOW TABLE STATUS FROM shop", "Engine"],
      ["SHOW STATUS", "Variable_name"],
      ["SHOW GLOBAL VARIABLES LIKE 'max%'", "Value"],
      ["SHOW ENGINES", "Support"],
      ["SHOW COLLATION", "Charset"],
      ["SHOW CHARACTER SET", "Maxlen"],
      ["SHOW PROCESSLIST", "Command"],
      ["SHOW GRANTS", "Grants for tester@%"],
      ["EXPLAIN SELECT * FROM docs", "EXPLAIN"],
      ["DESCRIBE SELECT 1+1", "EXPLAIN"],
      ["EXPLAIN FORMAT=JSON SELECT 1", "EXPLAIN"],
    ] as const) {
      const found = await all(sql);
      assert.ok(found.length > 0 && column in found[0]!, sql);
    }
  });

  test("information_schema has MySQL's tables and columns", async () => {
    assert.deepEqual(
      await all("SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'information_schema'"),
      [{ SCHEMA_NAME: "shop" }],
    );
    assert.deepEqual(
      await all(
        "SELECT TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'shop' ORDER BY TABLE_NAME",
      ),
      [
        { TABLE_NAME: "docs", TABLE_TYPE: "BASE TABLE" },
        { TABLE_NAME: "streams.events", TABLE_TYPE: "BASE TABLE" },
      ],
    );
    const columns = `SELECT c.COLUMN_NAME, c.COLUMN_TYPE, c.COLUMN_KEY FROM information_schema.COLUMNS c
      JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
      WHERE t.TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND c.DATA_TYPE IN ('bigint', 'json') ORDER BY ORDINAL_POSITION`;
    assert.deepEqual(await all(columns, ["docs"]), [
      { COLUMN_NAME: "_id", COLUMN_TYPE: "bigint", COLUMN_KEY: "PRI" },
      { COLUMN_NAME: "n", COLUMN_TYPE: "bigint", COLUMN_KEY: "" },
      { COLUMN_NAME: "v", COLUMN_TYPE: "json", COLUMN_KEY: "" },
      { COLUMN_NAME: "_source", COLUMN_TYPE: "json", COLUMN_KEY: "" },
    ]);
    assert.deepEqual(await all("SELECT COUNT(*) AS n FROM information_schema.VIEWS"), [{ n: 0 }]);
    assert.equal((await refused(all("SELECT * FROM information_schema.nothing"))).errno, 1064);
  });

  test("without a database in use only what needs none is answered", async () => {
    const bare = await connectTo(port, { database: "" });
    assert.deepEqual(await rows(bare, "SELECT DATABASE() AS d, 1 AS x"), [{ d: null, x: 1 }]);
    assert.deepEqual(
      await rows(
        bare,
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'docs'",
      ),
      [{ TABLE_NAME: "docs" }],
    );
    assert.equal((await refused(bare.query("SHOW TABLES"))).errno, 1046);
    assert.equal((await refused(bare.query("SELECT * FROM docs"))).errno, 1046);
    assert.deepEqual(await rows(bare, "SELECT _id FROM shop.docs WHERE _id = 1"), [{ _id: 1 }]);
    await bare.query("USE shop");
    assert.deepEqual(await rows(bare, "SELECT _id FROM docs WHERE _id = 1"), [{ _id: 1 }]);
    await bare.query("USE information_schema");
    assert.equal((await rows(bare, "SELECT * FROM tables WHERE table_schema = 'shop'")).length, 2);
    await bare.end();
  });

  test("what a session sets it finds again until it is reset", async () => {
    const session = await connectTo(port);
    await session.query(
      "SET autocommit = OFF, @a = 'x', SESSION sql_select_limit = 2, @@session.lock_wait_timeout = 9",
    );
    await session.query("SET NAMES utf8mb4 COLLATE utf8mb4_bin");
    await session.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    assert.deepEqual(await rows(session, "SELECT @@autocommit AS c, @a AS a, @@lock_wait_timeout AS l"), [
      { c: 0, a: "x", l: 9 },
    ]);
    assert.equal((await rows(session, "SELECT * FROM docs")).length, 2);
    assert.equal((await rows(session, "SELECT * FROM docs", [])).length, 2);
    await session.query("SET sql_select_limit = DEFAULT");
    assert.equal((await rows(session, "SELECT * FROM docs")).length, 3);
    await session.reset();
    assert.deepEqual(await rows(session, "SELECT @@autocommit AS c, @a AS a"), [{ c: 1, a: null }]);
    await session.end();
  });

  test("transactions are accepted, and told in the status", async () => {
    const session = await connectTo(port);
    const statusAfter = async (sql: string) => {
      const [{ serverStatus }] = (await session.query(sql)) as unknown as [{ serverStatus: number }];
      return serverStatus & 1;
    };
    assert.equal(await statusAfter("START TRANSACTION READ ONLY"), 1);
    assert.equal(await statusAfter("SAVEPOINT a"), 1);
    assert.equal(await statusAfter("ROLLBACK TO a"), 1);
    assert.equal(await statusAfter("COMMIT"), 0);
    await session.beginTransaction();
    await session.rollback();
    await session.end();
  });

  test("a user may change within a connection", async () => {
    const session = await connectTo(port);
    await session.query("SET @a = 1");
    await session.changeUser({ user: "other", database: "shop" });
    assert.deepEqual(await rows(session, "SELECT USER() AS u, @a AS a"), [{ u: "other@127.0.0.1", a: null }]);
    assert.equal((await refused(session.changeUser({ user: "other", database: "nothing" }))).errno, 1049);
    session.destroy();
  });
});
