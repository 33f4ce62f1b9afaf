import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SqlColumn } from "../../../engine/sql/batch.ts";
import { decimalText } from "../../../engine/sql/time-text.ts";
import type { SqlType } from "../../../engine/sql/type.ts";
import { typeInfo } from "../message/oid.ts";
import { MessageReader } from "../message/reader.ts";
import { MessageWriter } from "../message/writer.ts";
import { numericText, scientificText, writeNumeric } from "./number.ts";
import { rowWriter } from "./row.ts";
import { defaultStyle } from "./text.ts";

type Data = Extract<SqlColumn, { layout: "fixed" }>["data"];

const fixed = (type: SqlType, data: Data, validity?: Uint8Array): SqlColumn => ({
  layout: "fixed",
  type,
  validity,
  data,
});
const texts = (type: SqlType, values: readonly string[]): SqlColumn => {
  const offsets = new Int32Array(values.length + 1);
  values.forEach((value, i) => {
    offsets[i + 1] = offsets[i]! + Buffer.byteLength(value);
  });
  return { layout: "bytes", type, validity: undefined, offsets, data: Buffer.from(values.join("")) };
};
const list = (items: SqlColumn, ...ends: number[]): SqlColumn => ({
  layout: "list",
  type: { kind: "list", item: items.type },
  validity: undefined,
  offsets: Int32Array.from([0, ...ends]),
  items,
});

/** The value of a row of one column. */
function cell(column: SqlColumn, format: 0 | 1, row = 0): Buffer | null {
  const out = new MessageWriter();
  rowWriter({ rows: row + 1, columns: [column] }, [format], defaultStyle)(out, row);
  const message = out.take();
  assert.equal(message.readInt32BE(1), message.length - 1);
  const reader = new MessageReader(message.subarray(5));
  assert.equal(reader.int16(), 1);
  const length = reader.int32();
  return length === -1 ? null : reader.take(length);
}

const nested = list(list(fixed({ kind: "int32" }, Int32Array.of(1, 2, 3)), 2, 3), 2);
const struct: SqlColumn = {
  layout: "struct",
  type: { kind: "struct", fields: [{ name: "a", type: { kind: "text" } }] },
  validity: undefined,
  fields: [texts({ kind: "text" }, ["x"])],
};

for (const [column, oid, text, binary] of [
  [{ layout: "bits", type: { kind: "boolean" }, validity: undefined, data: Uint8Array.of(1) }, 16, "t", "01"],
  [fixed({ kind: "int8" }, Int8Array.of(-1)), 21, "-1", "ffff"],
  [fixed({ kind: "uint16" }, Uint16Array.of(65535)), 23, "65535", "0000ffff"],
  [fixed({ kind: "int32" }, Int32Array.of(-2)), 23, "-2", "fffffffe"],
  [fixed({ kind: "uint32" }, Uint32Array.of(4294967295)), 26, "4294967295", "ffffffff"],
  [fixed({ kind: "int64" }, BigInt64Array.of(-1n)), 20, "-1", "ffffffffffffffff"],
  [fixed({ kind: "uint64" }, BigUint64Array.of(10_000n)), 1700, "10000", "00010001000000000001"],
  [fixed({ kind: "int128" }, BigInt64Array.of(-1n, -1n)), 1700, "-1", "00010000400000000001"],
  [fixed({ kind: "float32" }, Float32Array.of(0.1)), 700, "0.1", "3dcccccd"],
  [fixed({ kind: "float64" }, Float64Array.of(-Infinity)), 701, "-Infinity", "fff0000000000000"],
  [fixed({ kind: "decimal", width: 10, scale: 2 }, BigInt64Array.of(-5n, -1n)), 1700, "-0.05", "0001ffff4000000201f4"],
  [
    fixed({ kind: "decimal", width: 38, scale: 12 }, BigInt64Array.of(1_500_000_000_000n, 0n)),
    1700,
    "1.5",
    "000200000000000100011388",
  ],
  [fixed({ kind: "decimal", width: 38, scale: 12 }, BigInt64Array.of(0n, 0n)), 1700, "0", "0000000000000000"],
  [texts({ kind: "text" }, ["é"]), 25, "é", "c3a9"],
  [texts({ kind: "json" }, ["{}"]), 114, "{}", "7b7d"],
  [texts({ kind: "bytes" }, ["ab"]), 17, "\\x6162", "6162"],
  [fixed({ kind: "date" }, Int32Array.of(10_958)), 1082, "2000-01-02", "00000001"],
  [fixed({ kind: "date" }, Int32Array.of(-735_160)), 1082, "0044-03-15 BC", "fff49d7b"],
  [fixed({ kind: "date" }, Int32Array.of(2 ** 31 - 1)), 1082, "infinity", "7fffffff"],
  [fixed({ kind: "time" }, BigInt64Array.of(1_500_000n)), 1083, "00:00:01.5", "000000000016e360"],
  [fixed({ kind: "timestamp" }, BigInt64Array.of(0n)), 1114, "1970-01-01 00:00:00", "fffca2fec4c82000"],
  [fixed({ kind: "timestamptz" }, BigInt64Array.of(0n)), 1184, "1970-01-01 00:00:00+00", "fffca2fec4c82000"],
  [
    fixed({ kind: "interval" }, BigInt64Array.of(14n, 3n, 1n)),
    1186,
    "1 year 2 mons 3 days 00:00:00.000001",
    "0000000000000001000000030000000e",
  ],
  [fixed({ kind: "uuid" }, new Uint8Array(16).fill(1)), 2950, "01010101-0101-0101-0101-010101010101", "01".repeat(16)],
  [fixed({ kind: "enum", values: ["a", "é"] }, Uint8Array.of(1)), 25, "é", "c3a9"],
  [
    list(fixed({ kind: "int32" }, Int32Array.of(1, 0), Uint8Array.of(1)), 2),
    1007,
    "{1,NULL}",
    "0000000100000001000000170000000200000001" + "0000000400000001ffffffff",
  ],
  [list(fixed({ kind: "int32" }, new Int32Array()), 0), 1007, "{}", "000000000000000000000017"],
  [
    list(texts({ kind: "text" }, ["a b", "", "null", 'q"\\', "p"]), 5),
    1009,
    '{"a b","","null","q\\"\\\\",p}',
    undefined,
  ],
  [nested, 114, "[[1,2],[3]]", Buffer.from("[[1,2],[3]]").toString("hex")],
  [struct, 114, '{"a":"x"}', Buffer.from('{"a":"x"}').toString("hex")],
] as const satisfies readonly (readonly [SqlColumn, number, string, string | undefined])[]) {
  test(`${JSON.stringify(column.type)} ${text} has its number, text and bytes`, () => {
    assert.equal(typeInfo(column.type).oid, oid);
    assert.equal(cell(column, 0)?.toString(), text);
    if (binary !== undefined) assert.equal(cell(column, 1)?.toString("hex"), binary);
  });
}

test("what is not there is NULL in both formats", () => {
  const column = fixed({ kind: "int32" }, Int32Array.of(1, 2), Uint8Array.of(0b01));
  for (const format of [0, 1] as const) {
    assert.notEqual(cell(column, format, 0), null);
    assert.equal(cell(column, format, 1), null);
    assert.equal(cell({ layout: "null", type: { kind: "null" } }, format), null);
  }
});

test("any decimal is the same after its way through the binary format", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n }),
      fc.integer({ min: 0, max: 38 }),
      (scaled, scale) => {
        const out = new MessageWriter();
        writeNumeric(out, scaled, scale);
        const reader = new MessageReader(out.take());
        const count = reader.uint16();
        const [weight, sign, shown] = [reader.int16(), reader.int16(), reader.uint16()];
        const digits = Array.from({ length: count }, () => reader.int16());
        reader.done();
        assert.equal(numericText(digits, weight, sign, shown), decimalText(scaled, scale));
      },
    ),
  );
});

test("a numeric with an exponent is the number that it is with all its digits", () => {
  for (const [digits, weight] of [
    [[1], 75],
    [[12, 3400], 20],
    [[7, 1], -12],
    [[], 0],
  ] as const) {
    for (const sign of [0, 0x4000]) {
      const scale = Math.max(0, 4 * (digits.length - 1 - weight));
      const written = Number(numericText(digits, weight, sign, scale));
      assert.equal(Number(scientificText(digits, weight, sign)), written);
    }
  }
  assert.equal(scientificText([], 0, -0x4000), "NaN");
});
