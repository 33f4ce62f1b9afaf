import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Connection, FieldPacket } from "mysql2/promise";
import type { ServerProcess } from "../../support/process.ts";
import { connectTo, fillShop, refused, rows, startServer } from "./server.ts";

describe("statements of mysql2", () => {
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

  const docs = [
    {
      _id: 1,
      title: "red apple",
      n: 1,
      price: 1.5,
      sold: 1,
      at: new Date("2024-02-29T12:34:56.250Z"),
      v: [1, 0],
    },
    { _id: 2, title: "grüner Apfel", n: 9_007_199_254_740_991, price: -0.1, sold: 0, at: null, v: null },
    { _id: 3, title: 'it\'s \\ "quoted"', n: null, price: null, sold: null, at: null, v: [0, 1] },
  ];
  const selectDocs = "SELECT _id, title, n, price, sold, `at`, v FROM docs ORDER BY _id";

  test("rows are the same in the text and in the binary protocol", async () => {
    assert.deepEqual(await rows(connection, selectDocs), docs);
    assert.deepEqual(await rows(connection, selectDocs, []), docs);
    const json = await rows(connection, "SELECT _source FROM docs WHERE _id = 3");
    assert.deepEqual(json, [{ _source: { title: 'it\'s \\ "quoted"' } }]);
  });

  test("parameters of a select of constants come back as what they are", async () => {
    const bytes = Buffer.from([255, 0, 65]);
    for (const from of ["", " FROM docs LIMIT 1"]) {
      assert.deepEqual(await rows(connection, `SELECT ? AS x, ? AS t${from}`, [bytes, "65"]), [{ x: bytes, t: "65" }]);
    }
  });

  test("NULL is smaller than every value in an order that does not say so", async () => {
    const ids = async (order: string) =>
      (await rows(connection, `SELECT _id FROM docs ORDER BY price ${order}`)).map(({ _id }) => _id);
    assert.deepEqual(await ids(""), [3, 2, 1]);
    assert.deepEqual(await ids("DESC"), [1, 2, 3]);
  });

  const literals = `SELECT 1::TINYINT AS i8, (-300)::SMALLINT AS i16, 70000::INTEGER AS i32, (-5)::BIGINT AS i64,
    255::UTINYINT AS u8, 12.50::DECIMAL(10,2) AS de, 170141183460469231731687303715884105727::HUGEINT AS huge,
    0.1::FLOAT AS f, 1e100::DOUBLE AS d, DATE '2024-01-31' AS da, TIME '01:02:03' AS ti,
    TIMESTAMP '2024-01-31 01:02:03' AS ts, true AS bo, 'é'::VARCHAR AS te, x'00ff' AS bl, NULL AS nu,
    [1, 2] AS li, {'a': 1} AS st, '{"b": [2]}'::JSON AS js, 'a'::ENUM('a', 'b') AS en,
    '00010203-0405-0607-0809-0a0b0c0d0e0f'::UUID AS uu`;

  test("every type has its form in both protocols", async () => {
    const want = {
      ...{ i8: 1, i16: -300, i32: 70_000, i64: -5, u8: 255, de: "12.50" },
      ...{ huge: "170141183460469231731687303715884105727", f: 0.1, d: 1e100, da: new Date("2024-01-31T00:00:00Z") },
      ...{ ti: "01:02:03", ts: new Date("2024-01-31T01:02:03Z"), bo: 1, te: "é", bl: Buffer.from([0, 255]) },
      ...{ nu: null, li: [1, 2], st: { a: 1 }, js: { b: [2] }, en: "a", uu: "00010203-0405-0607-0809-0a0b0c0d0e0f" },
    };
    const [text] = await rows(connection, literals);
    assert.deepEqual(text, want);
    const [binary] = await rows(connection, literals, []);
    assert.ok(Math.abs((binary!["f"] as number) - 0.1) < 1e-7);
    assert.deepEqual({ ...binary, f: 0.1 }, want);
  });

  test("columns tell their types", async () => {
    const [, fields] = (await connection.query(literals)) as unknown as [unknown, FieldPacket[]];
    const types = fields.map(({ type, columnType }) => type ?? columnType);
    assert.deepEqual(types, [1, 2, 3, 8, 1, 246, 246, 4, 5, 10, 11, 12, 1, 253, 252, 3, 245, 245, 245, 253, 253]);
  });

  for (const [sql, params, want] of [
    ["SELECT title FROM docs WHERE _id = ?", [1], [{ title: "red apple" }]],
    ["SELECT _id FROM docs WHERE title = ?", ['it\'s \\ "quoted"'], [{ _id: 3 }]],
    ["SELECT _id FROM docs WHERE n = ?", ["1"], [{ _id: 1 }]],
    ["SELECT _id FROM docs WHERE price < ? ORDER BY 1", [0.5], [{ _id: 2 }]],
    ["SELECT _id FROM docs WHERE sold = ?", [true], [{ _id: 1 }]],
    ["SELECT _id FROM docs WHERE `at` > ?", [new Date(0)], [{ _id: 1 }]],
    ["SELECT _id FROM docs ORDER BY _id LIMIT ?, ?", [1, 1], [{ _id: 2 }]],
    ["SELECT _id FROM docs WHERE _id IN (?, ?) ORDER BY _id DESC", [1, 3], [{ _id: 3 }, { _id: 1 }]],
    ["SELECT ? AS a, ? AS b, ? AS c", [1, "x", null], [{ a: 1, b: "x", c: null }]],
    ["SELECT CAST(? AS BLOB) AS b", [Buffer.from([0, 200])], [{ b: Buffer.from([0, 200]) }]],
  ] as const) {
    test(`${sql} with ${JSON.stringify(params)}`, async () => {
      assert.deepEqual(await rows(connection, sql, params), want);
      // Again with the statement that the client has kept.
      assert.deepEqual(await rows(connection, sql, params), want);
    });
  }

  test("strings that the client writes itself mean what they meant", async () => {
    for (const text of ["it's", 'a"b', "back\\slash", "new\nline", "%_", "ü😀", "--x", "/* no */", "#"]) {
      const [found] = await connection.query("SELECT ? AS x, length(?) AS l", [text, text]);
      assert.deepEqual({ ...(found as object[])[0] }, { x: text, l: [...text].length });
    }
  });

  test("MySQL's own ways to write are understood", async () => {
    assert.deepEqual(await rows(connection, "select `title` from `shop`.`docs` where `_id`=1 # first"), [
      { title: "red apple" },
    ]);
    assert.deepEqual(await rows(connection, 'select title from docs where tag = "a" limit 0, 1'), [
      { title: "red apple" },
    ]);
    assert.deepEqual(await rows(connection, "SELECT COUNT(*), max(n) FROM docs"), [
      { "COUNT(*)": 3, "max(n)": 9_007_199_254_740_991 },
    ]);
    assert.deepEqual(await rows(connection, "select /*!40001 SQL_NO_CACHE */ 7 div 2 as x"), [{ x: 3 }]);
    assert.deepEqual(await rows(connection, "select ifnull(tag, '-') t from docs order by _id desc limit 1"), [
      { t: "-" },
    ]);
  });

  test("streams are tables whose names begin with their schema", async () => {
    const want = [{ partition: 0, offset: 0, key: "k" }];
    assert.deepEqual(await rows(connection, "SELECT `partition`, `offset`, `key` FROM streams.events"), want);
    assert.deepEqual(await rows(connection, "SELECT `partition`, `offset`, `key` FROM `streams.events`"), want);
  });

  for (const [sql, errno, sqlState] of [
    ["SELEC 1", 1064, "42000"],
    ["SELECT 'open", 1064, "42000"],
    ["", 1065, "42000"],
    ["SELECT nothing FROM docs", 1054, "42S22"],
    ["SELECT * FROM nothing", 1146, "42S02"],
    ["SELECT nothing(1)", 1305, "42000"],
    ["SELECT CAST('x' AS BIGINT)", 1292, "22007"],
    ["INSERT INTO docs VALUES (1)", 1290, "HY000"],
    ["DROP TABLE docs", 1290, "HY000"],
    ["SELECT 1; SELECT 2", 1064, "42000"],
    ["USE nothing", 1049, "42000"],
    ["SELECT * FROM nothing.docs", 1049, "42000"],
    ["SELECT @@nothing", 1193, "HY000"],
    ["SET nonsense_var = 1", 1193, "HY000"],
    ["SET sql_mode = '', @@session.nothing = 1", 1193, "HY000"],
    ["PREPARE s FROM 'SELECT * FROM nothing'", 1146, "42S02"],
    ["SET GLOBAL wait_timeout = 1", 1227, "42000"],
    ["SET version = 'x'", 1238, "HY000"],
    ["SET NAMES latin1", 1115, "42000"],
    ["SET time_zone = 'Mars/Base'", 1298, "HY000"],
    ["KILL 4294967295", 1094, "HY000"],
    ["SHOW NOTHING", 1064, "42000"],
    ["DESCRIBE nothing", 1146, "42S02"],
  ] as const) {
    test(`${JSON.stringify(sql)} is error ${errno}, and the session goes on`, async () => {
      const { errno: got, sqlState: state } = await refused(connection.query(sql));
      assert.deepEqual([got, state], [errno, sqlState]);
      assert.deepEqual(await rows(connection, "SELECT 1 AS x"), [{ x: 1 }]);
    });
  }

  for (const [sql, params] of [
    ["SELECT ? AS x", []],
    ["SELECT ? AS x, ? AS y", ["only one"]],
  ] as const) {
    test(`${JSON.stringify(sql)} with ${params.length} values is error 1210, and the session goes on`, async () => {
      assert.equal((await refused(connection.execute(sql, [...params]))).errno, 1210);
      assert.deepEqual(await rows(connection, "SELECT 1 AS x"), [{ x: 1 }]);
    });
  }

  test("structs and maps are written as on every other wire", async () => {
    const found = await rows(connection, "SELECT {'a': 1} s, map {'b': 2} m, {'c': _id} FROM docs WHERE _id = 2");
    assert.deepEqual(found, [{ s: { a: 1 }, m: { b: 2 }, "{'c': _id}": { c: 2 } }]);
  });

  test("dates and numbers that MySQL does not have, in columns and in JSON", async () => {
    const sql =
      "SELECT DATE '10000-01-01' d, CAST(DATE '10000-01-01' AS CHAR) t, 'infinity'::double f, '-infinity'::double::json j, json_object('a', 'nan'::double) o";
    const wanted = { d: null, t: "10000-01-01", f: null, j: "-Infinity", o: { a: "NaN" } };
    assert.deepEqual(await rows(connection, sql), [wanted]);
    const [executed] = await connection.execute(sql);
    assert.deepEqual(executed, [wanted]);
  });

  test("an error in the middle of rows ends them", async () => {
    const sql = "SELECT CASE WHEN range < 100000 THEN [0] ELSE range(100001) END AS l FROM range(100001)";
    assert.equal((await refused(connection.query(sql))).errno, 1690);
    assert.equal((await refused(connection.execute(sql))).errno, 1690);
    assert.deepEqual(await rows(connection, "SELECT 1 AS x"), [{ x: 1 }]);
  });

  test("several statements at once, where the client has asked for it", async () => {
    const several = await connectTo(port, { multipleStatements: true });
    const [results] = await several.query(
      "SELECT 1 AS a; SET @x = 'y'; SELECT @x AS b; SELECT _id FROM docs WHERE _id = 2",
    );
    const [first, second, third, fourth] = results as unknown as [unknown, { affectedRows: number }, unknown, unknown];
    assert.deepEqual([first, third, fourth], [[{ a: 1 }], [{ b: "y" }], [{ _id: 2 }]]);
    assert.equal(second.affectedRows, 0);
    const { errno } = await refused(several.query("SELECT 1; SELECT nothing FROM docs; SELECT 2"));
    assert.equal(errno, 1054);
    await several.end();
  });

  test("a variable is set to what others are", async () => {
    const session = await connectTo(port);
    await session.query("SET @x = 5");
    await session.query("SET @y = @x + 1, @z = 1 + @x, @c = IF(@x > 1, 'a', 'b')");
    assert.deepEqual(await rows(session, "SELECT @y AS y, @z AS z, @c AS c"), [{ y: 6, z: 6, c: "a" }]);
    await session.end();
  });

  test("a backslash takes a wildcard's meaning away, in a parameter too", async () => {
    const [found] = await connection.execute("SELECT ? LIKE ? AS a, ? LIKE ? AS b", [
      ...["50% off", "50\\%%"],
      ...["50x off", "50\\%%"],
    ]);
    assert.deepEqual(found, [{ a: 1, b: 0 }]);
  });

  test("messages of more than 16 MiB, both ways", async () => {
    const length = 17_000_000;
    const text = "x".repeat(length);
    for (const params of [undefined, []]) {
      const [found] = await rows(connection, `SELECT repeat('x', ${length}) AS x`, params);
      assert.equal((found!["x"] as string) === text, true);
    }
    assert.deepEqual(await rows(connection, `SELECT length('${text}') AS l`), [{ l: length }]);
    assert.deepEqual(await rows(connection, "SELECT length(?) AS l", [text]), [{ l: length }]);
  });

  test("many rows", async () => {
    const found = await rows(connection, "SELECT range AS i, 'row ' || range AS t FROM range(200000)");
    assert.equal(found.length, 200_000);
    assert.deepEqual(found.at(-1), { i: 199_999, t: "row 199999" });
  });

  test("a session's time zone is that of its instants", async () => {
    const zoned = await connectTo(port, { dateStrings: true });
    await zoned.query("SET time_zone = '+02:00'");
    assert.deepEqual(await rows(zoned, "SELECT `at` FROM docs WHERE _id = 1"), [{ at: "2024-02-29 14:34:56.250000" }]);
    assert.deepEqual(await rows(zoned, "SELECT `at` FROM docs WHERE _id = 1", []), [
      { at: "2024-02-29 14:34:56.250000" },
    ]);
    await zoned.end();
  });

  test("sql_mode says what double quotes quote", async () => {
    const ansi = await connectTo(port);
    await ansi.query("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')");
    assert.deepEqual(await rows(ansi, 'SELECT "title" FROM "docs" WHERE "_id" = 1'), [{ title: "red apple" }]);
    await ansi.end();
  });
});
