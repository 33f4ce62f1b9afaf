import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../../../engine/errors.ts";
import { lexMysql, splitMysql } from "./lexer.ts";
import { type MysqlContext, rewriteMysql } from "./rewrite.ts";

const context: MysqlContext = {
  database: "shop",
  variable: (name) => `<${name}>`,
  userVariable: (name) => `<user ${name}>`,
  sessionFunction: (name) => (name === "DATABASE" || name === "CURRENT_USER" ? `<${name}>` : undefined),
  informationTable: (name) => (name === "TABLES" ? "info" : undefined),
};
const modes = { ansiQuotes: false, noBackslashEscapes: false };

function rewrite(source: string, given: Partial<MysqlContext> = {}) {
  return rewriteMysql(source, lexMysql(source, modes), { ...context, ...given });
}

for (const [given, want] of [
  // Quotes and comments.
  ["SELECT `a b`, `x``y` FROM `t`", 'SELECT "a b", "x`y" FROM "t"'],
  ["select 'it\\'s', 'a''b' as q", `select 'it''s' AS "it's", 'a''b' as q`],
  ['select x from t where a = "b"', "select x from t where a = 'b'"],
  ['select x as "Label", y as \'other\' from "t"', 'select x as "Label", y as "other" from "t"'],
  ['select t."x" from t', 'select t."x" from t'],
  ["select a # rest\n from t -- end", "select a from t"],
  ["select a /* c */ from/**/t", "select a from t"],
  ["select /*!40001 SQL_NO_CACHE */ a from t", "select a from t"],
  ["select a from t /*!50000 where a = 1 */ limit 2", "select a from t where a = 1 limit 2"],
  ["select 1--1 as x", "select 1- -1 as x"],
  ["select x'4142' as x", "select '\\x41\\x42'::BLOB as x"],
  ["select 0x4142 as x, 0xaBc as y", "select '\\x41\\x42'::BLOB as x, '\\x0a\\xBc'::BLOB as y"],
  ["select b'101' as x", "select 5 as x"],
  ["select 'a' 'b' as x", "select 'ab' as x"],
  ["select _utf8mb4'a' as x", "select 'a' as x"],
  // Limits, operators, patterns.
  ["select a from t limit 5, 10", "select a from t limit 10 OFFSET 5"],
  ["select a from t limit ?, ?", "select a from t limit $2 OFFSET $1"],
  ["select a from t where a <=> null && b", "select a from t where a IS NOT DISTINCT FROM null AND b"],
  ["select a div 2 as x, b mod 3 as y from t", "select a // 2 as x, b % 3 as y from t"],
  ["select a from t where a like 'x\\_y%'", "select a from t where a like 'x\\_y%'"],
  ["select a from t where a regexp '^b'", "select a from t where a ~ '(?is).*(?:^b).*'"],
  ["select a from t where a not rlike 'b'", "select a from t where a !~ '(?is).*(?:b).*'"],
  ["select a from t where a = 'x' collate utf8mb4_bin", "select a from t where a = 'x'"],
  ["select a from t for update", "select a from t"],
  ["select 1 as x from dual", "select 1 as x"],
  // Variables and functions.
  ["select @@session.x as a, @y as b", "select <session.x> as a, <user y> as b"],
  ["select database() as d", "select <DATABASE> as d"],
  ["select CURRENT_USER", 'select <CURRENT_USER> AS "CURRENT_USER"'],
  ["select isnull(a) as x from t", "select (a) IS NULL as x from t"],
  ["select cast(a as signed) as x from t", "select cast(a as BIGINT) as x from t"],
  ["select cast(a as char(10)) as x from t", "select cast(a as VARCHAR) as x from t"],
  ["select convert(a, unsigned) as x from t", "select CAST(a AS UBIGINT) as x from t"],
  ["select convert(a using utf8mb4) as x from t", "select (a ) as x from t"],
  ["select date_sub(d, interval 1 day) as x from t", "select (d - interval 1 day) as x from t"],
  [
    "select date_format(d, '%Y-%m-%d %H:%i:%s') as x",
    "select strftime(CAST(d AS TIMESTAMP), '%Y-%m-%d %H:%M:%S') as x",
  ],
  ["select group_concat(a order by b separator ';') as x", "select string_agg(a , ';' order by b ) as x"],
  ["select group_concat(a) as x", "select string_agg(a, ',') as x"],
  [
    "select max(at), `offset`, offset from t where array = 1 limit 1 offset 2",
    'select max("at") AS "max(at)", "offset", "offset" from t where "array" = 1 limit 1 offset 2',
  ],
  ["select at at time zone 'UTC' as x from t", `select "at" at time zone 'UTC' as x from t`],
  // Tables.
  ["select * from shop.docs", 'select * from "docs"'],
  ["select shop.docs.a from `shop`.`docs`", 'select docs.a from "docs"'],
  ["select * from streams.events s", 'select * from "streams"."events" s'],
  ["select * from shop.`streams.events`", 'select * from "streams"."events"'],
  [
    "select `streams.events`.`offset` from `streams.events`",
    'select "streams"."events"."offset" from "streams"."events"',
  ],
  ["select * from a join shop.b on a.x = b.x, shop.c", 'select * from a join "b" on a.x = b.x, "c"'],
  ["select * from (select a from shop.t) q", 'select * from (select a from "t") q'],
  ["select * from information_schema.tables", 'select * from (info) AS "tables"'],
  ["select * from information_schema.tables as t where 1", "select * from (info) as t where 1"],
  ["select * from information_schema.tables t", "select * from (info) t"],
  ["select * from rrf(text_search(`docs`, 'a', `body`, 3))", `select * from rrf(text_search("docs", 'a', "body", 3))`],
  [
    "select a as x from t having x > 1 order by b limit 2",
    'SELECT * FROM (select a as x from t order by b) AS "result" WHERE x > 1 limit 2',
  ],
  ["select a, count(*) n from t having n > 1", "select a, count(*) n from t having n > 1"],
  [
    "select datediff(a, b) as x, timestampdiff(day, a, b) as y",
    "select days_between(a, b) as x, date_sub('day', a, b) as y",
  ],
  [
    "select now(6) as a, now() as b, curtime(3) as c",
    "select now() as a, date_trunc('second', now()) as b, CAST((date_trunc('millisecond', now()) AT TIME ZONE 'UTC') AS TIME) as c",
  ],
  [
    "select unix_timestamp('2024-01-01 00:00:00') as a",
    "select epoch(CAST('2024-01-01 00:00:00' AS TIMESTAMP))::BIGINT as a",
  ],
  // Labels.
  [
    "select \"q\", 'a' 'b', a regexp 'x' from t",
    `select 'q' AS "q", 'ab' AS "a", a ~ '(?is).*(?:x).*' AS "a regexp 'x'" from t`,
  ],
  ["SELECT date '2024-01-01', t.date 'd' FROM t", `SELECT date '2024-01-01' AS "date '2024-01-01'", t.date 'd' FROM t`],
  ["SELECT COUNT(*), a, t.b FROM t", 'SELECT COUNT(*) AS "COUNT(*)", a, t.b FROM t'],
  ["select a + b, a c, 1 from t", 'select a + b AS "a + b", a c, 1 AS "1" from t'],
  ["select count(*) n, t.*, * exclude (a) from t", "select count(*) n, t.*, * exclude (a) from t"],
  ["select case when a then 1 end from t", 'select case when a then 1 end AS "case when a then 1 end" from t'],
  ["select distinct lower(a) from t", 'select distinct lower(a) AS "lower(a)" from t'],
  ["select interval 1 day from t", "select interval 1 day from t"],
  ["select {'a': 1} s, {'a': b}, map {'a': 1} m", `select {'a': 1} s, {'a': b} AS "{'a': b}", map {'a': 1} m`],
] as const) {
  test(given, () => assert.equal(rewrite(given).query, want));
}

test("another database of all tables is told", () => {
  assert.deepEqual(rewrite("select * from other.docs o join other.x on o.a = x.a"), {
    query: 'select * from "docs" o join "x" on o.a = x.a',
    parameters: 0,
    strings: [],
    database: "other",
  });
  assert.throws(() => rewrite("select * from docs join other.x on 1"), /one database/);
  assert.throws(() => rewrite("select * from one.x, two.y"), /one database/);
});

test("long strings go beside the query", () => {
  const long = "x".repeat(100_000);
  const { query, parameters, strings } = rewrite(`select length('${long}') as a, ? as b, '${long}' as c`);
  assert.equal(query, "select length($2) as a, $1 as b, $3 as c");
  assert.equal(parameters, 1);
  assert.deepEqual(strings, [long, long]);
});

test("bare tables are those of information_schema while it is in use", () => {
  assert.equal(
    rewrite("select * from tables", { database: "information_schema" }).query,
    'select * from (info) AS "tables"',
  );
  assert.throws(() => rewrite("select * from information_schema.nothing"), /Unknown table 'nothing'/);
});

test("with ANSI_QUOTES double quotes quote names, and a backslash may be one", () => {
  const source = `select "a" from t where b = 'c\\'`;
  const tokens = lexMysql(source, { ansiQuotes: true, noBackslashEscapes: true });
  assert.equal(rewriteMysql(source, tokens, context).query, source);
});

test("statements are told apart outside of strings and comments", () => {
  const split = splitMysql(lexMysql("select ';' ; -- ;\n ; select `;`;", modes));
  assert.deepEqual(
    split.map((tokens) => tokens.map(({ value }) => value)),
    [
      ["select", ";"],
      ["select", ";"],
    ],
  );
});

for (const broken of ["select 'a", "select `a", "select /* a", "select @", "select x'1'"]) {
  test(`${broken} is a syntax error`, () => {
    assert.throws(
      () => lexMysql(broken, modes),
      (error) => error instanceof EngineError && (error.details["sql"] as { kind: string }).kind === "syntax",
    );
  });
}

test("calls in one another without end are refused before they are looked at", () => {
  assert.throws(() => rewrite(`select ${"f(".repeat(20_000)}`), /query: has brackets more than 500 levels deep/);
});

/** Each looked once through all that came before or after it; together they took minutes. */
test("as much as a statement may hold is rewritten at once", () => {
  const times = 4_500;
  const many = (part: string, glue = ", ") => Array.from({ length: times }, () => part).join(glue);
  assert.equal(rewrite(`select ${many("convert(a, signed) as x")} from t`).query.match(/AS BIGINT/g)?.length, times);
  assert.equal(rewrite(`select ${many("'ab'", " ")} as x`).query, `select '${"ab".repeat(times)}' as x`);
  assert.equal(rewrite(`select ${many("'a' as x")}, '\\\\' as y`).query.match(/'a'/g)?.length, times);
  assert.equal(rewrite(`select a from t ${many("for update", " ")}`).query, "select a from t");
  assert.equal(rewrite(`select ${many("-a")} from t`).query.match(/-a/g)?.length, times * 2);
  assert.match(rewrite("select isnull(a").query, /^select isnull\(a/);
});
