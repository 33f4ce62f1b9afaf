import assert from "node:assert/strict";
import { test } from "node:test";
import type { SqlColumn } from "./batch.ts";
import { dateText, decimalText, intervalText, timestampText, timeText } from "./time-text.ts";
import type { SqlType } from "./type.ts";
import { float32Text, jsonValue, readValue, typeName } from "./value.ts";

test("dates before and after the epoch, and without end", () => {
  for (const [days, want] of [
    [0, "1970-01-01"],
    [-1, "1969-12-31"],
    [19_782, "2024-02-29"],
    [-719_528, "0001-01-01 BC"],
    [2_147_483_647, "infinity"],
  ] as const) {
    assert.equal(dateText(days), want);
  }
  // JavaScript's own calendar agrees over two thousand years.
  for (let days = -400_000; days < 400_000; days += 997) {
    assert.equal(dateText(days), new Date(days * 86_400_000).toISOString().slice(0, 10));
  }
});

test("times, instants, intervals and decimals", () => {
  assert.equal(timeText(3_723_500_000n), "01:02:03.5");
  assert.equal(timestampText(-1n, { separator: "T", zone: "Z" }), "1969-12-31T23:59:59.999999Z");
  assert.equal(intervalText(14, -3, 3_600_000_000n), "1 year 2 mons -3 days 01:00:00");
  assert.equal(intervalText(0, 0, 0n), "00:00:00");
  assert.equal(decimalText(-5n, 2), "-0.05");
  assert.equal(decimalText(12_345n, 0), "12345");
});

test("single precision shows the digits it has", () => {
  for (const text of ["0.1", "3.4028235e+38", "1", "-0.0009765625", "16777216"]) {
    assert.equal(float32Text(Math.fround(Number(text))), text);
  }
});

test("a value that is not there is null, whatever its place holds", () => {
  const column: SqlColumn = {
    layout: "fixed",
    type: { kind: "int64" },
    validity: Uint8Array.of(0b101),
    data: BigInt64Array.of(1n, 2n, 3n),
  };
  assert.deepEqual(
    [0, 1, 2].map((row) => readValue(column, row)),
    [1n, null, 3n],
  );
});

test("decimals and JSON inside of lists and structs are what they are outside", () => {
  const decimal = (width: number) => ({ kind: "decimal", width, scale: 2 }) as const;
  const listOf = (item: SqlType) => ({ kind: "list", item }) as const;
  for (const [value, type, want] of [
    [["1.10"], listOf(decimal(5)), "[1.1]"],
    [["1234567890123456.10"], listOf(decimal(18)), '["1234567890123456.10"]'],
    [['{"a":[9007199254740993,"x",null]}', null], listOf({ kind: "json" }), '[{"a":[9007199254740993,"x",null]},null]'],
    [["{"], listOf({ kind: "json" }), '["{"]'],
    [["{}"], listOf({ kind: "text" }), '["{}"]'],
    [{ j: "[1]" }, { kind: "struct", fields: [{ name: "j", type: { kind: "json" } }] }, '{"j":[1]}'],
  ] as const) {
    assert.equal(JSON.stringify(jsonValue(value, type as SqlType)), want);
  }
});

test("large integers are text in JSON, and types have DuckDB's names", () => {
  assert.equal(jsonValue(2n ** 53n), "9007199254740992");
  assert.equal(jsonValue(2n ** 53n - 1n), 9_007_199_254_740_991);
  assert.equal(typeName({ kind: "list", item: { kind: "float32" }, size: 3 }), "FLOAT[3]");
  assert.equal(typeName({ kind: "map", key: { kind: "text" }, value: { kind: "int64" } }), "MAP(VARCHAR, BIGINT)");
});
