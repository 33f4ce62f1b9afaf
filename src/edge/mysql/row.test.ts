import assert from "node:assert/strict";
import { test } from "node:test";
import type { SqlColumn } from "../../engine/sql/batch.ts";
import { binaryRows } from "./binary-row.ts";
import { ByteReader } from "./byte-reader.ts";
import { PacketWriter } from "./packet-writer.ts";
import { textRows } from "./text-row.ts";

const micros = (text: string) => BigInt(Date.parse(text)) * 1000n;

function textCells(column: SqlColumn, rows: number, offsetMicros = 0n): (string | null)[] {
  const packet = new PacketWriter();
  const encode = textRows({ rows, columns: [column] }, offsetMicros);
  const cells: (string | null)[] = [];
  for (let row = 0; row < rows; row++) {
    encode(packet, row);
    const payload = packet.take().subarray(4);
    cells.push(payload[0] === 0xfb ? null : new ByteReader(payload).lengthBytes().toString("utf8"));
  }
  return cells;
}

function binaryCells(column: SqlColumn, rows: number, offsetMicros = 0n): (string | null)[] {
  const packet = new PacketWriter();
  const encode = binaryRows({ rows, columns: [column] }, offsetMicros);
  const cells: (string | null)[] = [];
  for (let row = 0; row < rows; row++) {
    encode(packet, row);
    const payload = packet.take().subarray(4);
    assert.equal(payload[0], 0);
    cells.push((payload[1]! & 4) !== 0 ? null : payload.subarray(2).toString("hex"));
  }
  return cells;
}

const cases: readonly (readonly [string, SqlColumn, readonly string[], readonly string[]])[] = [
  [
    "booleans",
    { layout: "bits", type: { kind: "boolean" }, validity: undefined, data: Uint8Array.of(0b10) },
    ["0", "1"],
    ["00", "01"],
  ],
  [
    "small integers",
    { layout: "fixed", type: { kind: "int8" }, validity: undefined, data: Int8Array.of(-1, 5) },
    ["-1", "5"],
    ["ff", "05"],
  ],
  [
    "64-bit integers",
    { layout: "fixed", type: { kind: "int64" }, validity: undefined, data: BigInt64Array.of(-2n, 2n ** 62n) },
    ["-2", "4611686018427387904"],
    ["feffffffffffffff", "0000000000000040"],
  ],
  [
    "unsigned ones",
    { layout: "fixed", type: { kind: "uint64" }, validity: undefined, data: BigUint64Array.of(2n ** 64n - 1n) },
    ["18446744073709551615"],
    ["ffffffffffffffff"],
  ],
  [
    "sums of 128 bits",
    { layout: "fixed", type: { kind: "int128" }, validity: undefined, data: BigInt64Array.of(-5n, -1n, 0n, 1n) },
    ["-5", "18446744073709551616"],
    ["022d35", "143138343436373434303733373039353531363136"],
  ],
  [
    "decimals",
    {
      layout: "fixed",
      type: { kind: "decimal", width: 10, scale: 2 },
      validity: undefined,
      data: BigInt64Array.of(12345n, 0n, -5n, -1n),
    },
    ["123.45", "-0.05"],
    ["063132332e3435", "052d302e3035"],
  ],
  [
    "floats",
    { layout: "fixed", type: { kind: "float32" }, validity: undefined, data: Float32Array.of(0.1, -2.5) },
    ["0.1", "-2.5"],
    ["cdcccc3d", "000020c0"],
  ],
  [
    "doubles",
    { layout: "fixed", type: { kind: "float64" }, validity: undefined, data: Float64Array.of(0.1) },
    ["0.1"],
    ["9a9999999999b93f"],
  ],
  [
    "dates",
    { layout: "fixed", type: { kind: "date" }, validity: undefined, data: Int32Array.of(0, -1, 20_000) },
    ["1970-01-01", "1969-12-31", "2024-10-04"],
    ["04b2070101", "04b1070c1f", "04e8070a04"],
  ],
  [
    "times",
    { layout: "fixed", type: { kind: "time" }, validity: undefined, data: BigInt64Array.of(0n, 3_661_000_000n, 1n) },
    ["00:00:00", "01:01:01", "00:00:00.000001"],
    ["00", "080000000000010101", "0c000000000000000001000000"],
  ],
  [
    "timestamps",
    {
      layout: "fixed",
      type: { kind: "timestamp" },
      validity: undefined,
      data: BigInt64Array.of(0n, micros("2024-02-29T12:34:56Z"), micros("1969-12-31T23:59:59Z") + 250_000n),
    },
    ["1970-01-01 00:00:00", "2024-02-29 12:34:56", "1969-12-31 23:59:59.250000"],
    ["04b2070101", "07e807021d0c2238", "0bb1070c1f173b3b90d00300"],
  ],
  [
    "UUIDs",
    {
      layout: "fixed",
      type: { kind: "uuid" },
      validity: undefined,
      data: Uint8Array.from({ length: 16 }, (_, i) => i),
    },
    ["00010203-0405-0607-0809-0a0b0c0d0e0f"],
    [`24${Buffer.from("00010203-0405-0607-0809-0a0b0c0d0e0f").toString("hex")}`],
  ],
  [
    "enums",
    { layout: "fixed", type: { kind: "enum", values: ["é", "b"] }, validity: undefined, data: Uint8Array.of(1, 0) },
    ["b", "é"],
    ["0162", "02c3a9"],
  ],
  [
    "texts",
    {
      layout: "bytes",
      type: { kind: "text" },
      validity: undefined,
      offsets: Int32Array.of(0, 2, 2),
      data: Buffer.from("hi"),
    },
    ["hi", ""],
    ["026869", "00"],
  ],
  [
    "lists",
    {
      layout: "list",
      type: { kind: "list", item: { kind: "float32" } },
      validity: undefined,
      offsets: Int32Array.of(0, 2),
      items: { layout: "fixed", type: { kind: "float32" }, validity: Uint8Array.of(1), data: Float32Array.of(0.1, 0) },
    },
    ["[0.1,null]"],
    ["0a5b302e312c6e756c6c5d"],
  ],
  [
    "structs",
    {
      layout: "struct",
      type: { kind: "struct", fields: [{ name: "a", type: { kind: "boolean" } }] },
      validity: undefined,
      fields: [{ layout: "bits", type: { kind: "boolean" }, validity: undefined, data: Uint8Array.of(1) }],
    },
    ['{"a":true}'],
    ["0a7b2261223a747275657d"],
  ],
];

for (const [name, column, texts, binaries] of cases) {
  test(`${name} as text and in binary`, () => {
    assert.deepEqual(textCells(column, texts.length), texts);
    assert.deepEqual(binaryCells(column, binaries.length), binaries);
  });
}

test("NULLs are marked, in binary by a bitmap that begins at its third bit", () => {
  const column: SqlColumn = {
    layout: "fixed",
    type: { kind: "int16" },
    validity: Uint8Array.of(0b101),
    data: Int16Array.of(1, 2, 3),
  };
  assert.deepEqual(textCells(column, 3), ["1", null, "3"]);
  assert.deepEqual(binaryCells(column, 3), ["0100", null, "0300"]);
  assert.deepEqual(textCells({ layout: "null", type: { kind: "null" } }, 1), [null]);
  const packet = new PacketWriter();
  const columns = Array.from(
    { length: 15 },
    (_, i): SqlColumn => (i % 2 === 0 ? { layout: "null", type: { kind: "null" } } : column),
  );
  binaryRows({ rows: 1, columns }, 0n)(packet, 0);
  assert.equal(packet.take().subarray(4, 8).toString("hex"), "00545501");
});

test("numbers that MySQL does not have are NULL", () => {
  const column: SqlColumn = {
    layout: "fixed",
    type: { kind: "float64" },
    validity: undefined,
    data: Float64Array.of(1, Number.POSITIVE_INFINITY, Number.NaN),
  };
  assert.deepEqual(textCells(column, 3), ["1", null, null]);
  assert.deepEqual(binaryCells(column, 3).slice(1), [null, null]);
});

test("an instant is told in the session's time zone, a timestamp of none as it is", () => {
  const data = BigInt64Array.of(micros("2024-01-01T23:00:00Z"));
  const twoHours = 7_200_000_000n;
  const instant: SqlColumn = { layout: "fixed", type: { kind: "timestamptz" }, validity: undefined, data };
  assert.deepEqual(textCells(instant, 1, twoHours), ["2024-01-02 01:00:00"]);
  assert.deepEqual(textCells({ ...instant, type: { kind: "timestamp" } }, 1, twoHours), ["2024-01-01 23:00:00"]);
});

test("dates that MySQL does not have are NULL, and not other dates", () => {
  const days: SqlColumn = {
    layout: "fixed",
    type: { kind: "date" },
    validity: undefined,
    data: Int32Array.of(2_932_896, 2_932_897, 2_147_483_647, -719_528, -719_529),
  };
  assert.deepEqual(textCells(days, 5), ["9999-12-31", null, null, "0000-01-01", null]);
  assert.deepEqual(binaryCells(days, 5).slice(1, 3), [null, null]);
  const data = BigInt64Array.of(micros("9999-12-31T23:00:00Z"));
  const instant: SqlColumn = { layout: "fixed", type: { kind: "timestamptz" }, validity: undefined, data };
  assert.deepEqual(textCells(instant, 1, 7_200_000_000n), [null]);
  assert.deepEqual(textCells({ ...instant, type: { kind: "timestamp" } }, 1, 7_200_000_000n), ["9999-12-31 23:00:00"]);
});
