import assert from "node:assert/strict";
import { test } from "node:test";
import type { SqlColumn } from "./batch.ts";
import { dateText, decimalText, intervalText, timestampText, timeText } from "./time-text.ts";
import type { SqlType } from "./type.ts";
import { checkWeight, float32Text, jsonScalar, jsonText, readValue, typeName, weightOf } from "./value.ts";

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

function textColumn(type: SqlType, ...texts: readonly string[]): SqlColumn {
  const data = Buffer.from(texts.join(""));
  const offsets = Int32Array.from({ length: texts.length + 1 }, (_, i) => {
    return texts.slice(0, i).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  });
  return { layout: "bytes", type, validity: undefined, offsets, data };
}

function listColumn(items: SqlColumn, length: number): SqlColumn {
  const type = { kind: "list", item: items.type } as const;
  return { layout: "list", type, validity: undefined, offsets: Int32Array.of(0, length), items };
}

function structColumn(name: string, field: SqlColumn): SqlColumn {
  const type = { kind: "struct", fields: [{ name, type: field.type }] } as const;
  return { layout: "struct", type, validity: undefined, fields: [field] };
}

function decimalColumn(width: number, value: bigint): SqlColumn {
  const type = { kind: "decimal", width, scale: 2 } as const;
  return { layout: "fixed", type, validity: undefined, data: BigInt64Array.of(value, 0n) };
}

test("decimals and JSON inside of lists and structs are what they are outside", () => {
  const large = '{"a":[9007199254740993,"x",null, -0, 1.50]}';
  for (const [column, want] of [
    [listColumn(decimalColumn(5, 110n), 1), "[1.1]"],
    [listColumn(decimalColumn(18, 123_456_789_012_345_610n), 1), '["1234567890123456.10"]'],
    [listColumn(textColumn({ kind: "json" }, large, "[]"), 2), `[${large},[]]`],
    [listColumn(textColumn({ kind: "json" }, "{"), 1), '["{"]'],
    [listColumn(textColumn({ kind: "text" }, "{}"), 1), '["{}"]'],
    [structColumn("j", textColumn({ kind: "json" }, "[1]")), '{"j":[1]}'],
  ] as const) {
    assert.equal(jsonText(column, 0), want);
  }
});

test("a nested value weighs what it takes to be written: its parts, and long texts and names", () => {
  const long = "x".repeat(640_000);
  assert.equal(weightOf(textColumn({ kind: "text" }, long), 0, 1), 0);
  assert.equal(weightOf(listColumn(decimalColumn(5, 110n), 1), 0, 1), 1);
  for (const column of [
    listColumn(textColumn({ kind: "json" }, long.slice(0, 80_000)), 1),
    structColumn("j", textColumn({ kind: "text" }, long)),
    structColumn(long, decimalColumn(5, 110n)),
  ]) {
    assert.ok(Math.abs(weightOf(column, 0, 1) - 10_001) < 1);
    checkWeight({ rows: 1, columns: [column] });
  }
  const tooLong = structColumn(long.repeat(11), decimalColumn(5, 110n));
  assert.throws(() => checkWeight({ rows: 1, columns: [tooLong] }), /too long for this wire/);
});

test("large integers are text in JSON, and types have DuckDB's names", () => {
  assert.equal(jsonScalar(2n ** 53n), "9007199254740992");
  assert.equal(jsonScalar(2n ** 53n - 1n), 9_007_199_254_740_991);
  assert.equal(typeName({ kind: "list", item: { kind: "float32" }, size: 3 }), "FLOAT[3]");
  assert.equal(typeName({ kind: "map", key: { kind: "text" }, value: { kind: "int64" } }), "MAP(VARCHAR, BIGINT)");
});
