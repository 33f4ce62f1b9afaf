import assert from "node:assert/strict";
import { test } from "node:test";
import { columnName } from "./column-name.ts";
import { parseCommand } from "./command.ts";
import { splitStatements } from "./dialect/lexer.ts";
import { PostgresError } from "./error.ts";
import { Settings } from "./settings.ts";
import { parseOptions } from "./startup.ts";

const settings = new Settings("15.0", "me");
const parse = (text: string) => parseCommand(splitStatements(text)[0]!, (name) => settings.has(name));

for (const [text, want] of [
  ["select 1", { kind: "query" }],
  ["BEGIN ISOLATION LEVEL SERIALIZABLE", { kind: "begin", tag: "BEGIN" }],
  ["start transaction read only", { kind: "begin", tag: "START TRANSACTION" }],
  ["end", { kind: "commit" }],
  ["rollback work", { kind: "rollback" }],
  ['rollback to savepoint "A b"', { kind: "rollback_to", name: "A b" }],
  ["set search_path to a, 'b c'", { kind: "set", name: "search_path", value: "a, b c", isLocal: false }],
  ["SET LOCAL x.y = -1", { kind: "set", name: "x.y", value: "-1", isLocal: true }],
  ["set session datestyle = default", { kind: "set", name: "datestyle", value: undefined, isLocal: false }],
  ["set time zone 'UTC'", { kind: "set", name: "TimeZone", value: "UTC", isLocal: false }],
  ["set schema 'a'", { kind: "set", name: "search_path", value: "a", isLocal: false }],
  ["set names 'utf8'", { kind: "set", name: "client_encoding", value: "utf8", isLocal: false }],
  ["set transaction read only", { kind: "accepted", tag: "SET" }],
  ["show server_version", { kind: "show", name: "server_version" }],
  ["show transaction isolation level", { kind: "show", name: "transaction_isolation" }],
  ["show tables", { kind: "query" }],
  ["deallocate prepare all", { kind: "deallocate", name: undefined }],

  ["fetch forward all in c", { kind: "fetch", name: "c", move: { kind: "rows", count: Infinity }, isMove: false }],
  ["fetch absolute -2 c", { kind: "fetch", name: "c", move: { kind: "absolute", row: -2 }, isMove: false }],
  ["fetch prior from c", { kind: "fetch", name: "c", move: { kind: "rows", count: -1 }, isMove: false }],
  ["listen x", { kind: "accepted", tag: "LISTEN" }],
  ["move 3 from c", { kind: "fetch", name: "c", move: { kind: "rows", count: 3 }, isMove: true }],
] as const) {
  test(`${text} is understood`, () => assert.deepEqual(parse(text), want));
}

for (const text of ["notify x", "declare c binary cursor for select 1", "lock items"]) {
  test(`${text} is refused`, () => assert.equal(parse(text).kind, "refused"));
}

test("a setting is checked, kept and reset", () => {
  const own = new Settings("15.0", "me");
  own.set("statement_timeout", "1.5s", false);
  assert.equal(own.statementTimeoutMs, 1_500);
  own.set("TimeZone", "Europe/Berlin", false);
  assert.equal(own.get("timezone"), "UTC");
  for (const [name, value, code] of [
    ["statement_timeout", "soon", "22023"],
    ["TimeZone", "Mars/Olympus", "22023"],
    ["client_encoding", "LATIN1", "22023"],
    ["server_version", "9", "55P02"],
    ["nothing_known", "1", "42704"],
    ["a.b", "x".repeat(10_000), "22023"],
  ] as const) {
    assert.throws(
      () => own.set(name, value, false),
      (error) => error instanceof PostgresError && error.code === code,
      name,
    );
  }
  assert.throws(() => {
    for (let i = 0; i < 1_000; i++) own.set(`mine.s${i}`, "1", false);
  }, PostgresError);
});

test("options of the command line are settings", () => {
  const found = parseOptions("-c search_path=a\\ b --statement-timeout=5s -cx.y=z");
  assert.deepEqual(
    [...found],
    [
      ["search_path", "a b"],
      ["statement_timeout", "5s"],
      ["x.y", "z"],
    ],
  );
  assert.throws(() => parseOptions("-d"), PostgresError);
});

for (const [given, want] of [
  ["title", "title"],
  ["count_star()", "count"],
  ["sum(a.b)", "sum"],
  ['x."version"()', "version"],
  ["(1 + 1)", "?column?"],
  ["'x'", "?column?"],
  ["CAST(_id AS VARCHAR)", "_id"],
  ["CAST(t._id AS VARCHAR)", "_id"],
  ["CAST('x' AS DATE)", "date"],
  ["CAST(now() AS DATE)", "now"],
  ["CAST(2.25 AS DECIMAL(18,3))", "numeric"],
  ["CAST(2.5 AS DOUBLE)", "float8"],
  ["CASE  WHEN (a) THEN (1) ELSE NULL END", "case"],
] as const) {
  test(`a column that the engine calls ${given} is ${want}`, () => assert.equal(columnName(given), want));
}
