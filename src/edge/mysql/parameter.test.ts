import assert from "node:assert/strict";
import { test } from "node:test";
import type { SqlType } from "../../engine/sql/type.ts";
import { ByteReader } from "./byte-reader.ts";
import { readParameters } from "./parameter.ts";
import { fieldType } from "./type.ts";

function read(code: number, hex: string, wanted?: SqlType, unsigned = false) {
  const head = Buffer.from([0, 1, code, unsigned ? 0x80 : 0]);
  const reader = new ByteReader(Buffer.concat([head, Buffer.from(hex, "hex")]));
  const { params } = readParameters(reader, [wanted], [], new Map());
  assert.equal(reader.remaining, 0);
  return params[0];
}

const text = (value: string) =>
  Buffer.concat([Buffer.from([Buffer.byteLength(value)]), Buffer.from(value)]).toString("hex");
const int64: SqlType = { kind: "int64" };

for (const [name, got, want] of [
  ["a tiny", read(fieldType.tiny, "ff"), { value: -1, type: int64 }],
  ["an unsigned tiny", read(fieldType.tiny, "ff", undefined, true), { value: 255, type: int64 }],
  ["a tiny for a boolean", read(fieldType.tiny, "01", { kind: "boolean" }), { value: 1, type: { kind: "boolean" } }],
  ["a short", read(fieldType.short, "feff"), { value: -2, type: int64 }],
  ["a long", read(fieldType.long, "01000000"), { value: 1, type: int64 }],
  ["a longlong", read(fieldType.longlong, "ffffffffffffffff"), { value: -1n, type: int64 }],
  [
    "an unsigned one",
    read(fieldType.longlong, "ffffffffffffffff", undefined, true),
    { value: 2n ** 64n - 1n, type: { kind: "uint64" } },
  ],
  ["a double", read(fieldType.double, "000000000000e03f"), { value: 0.5, type: { kind: "float64" } }],
  ["a whole double", read(fieldType.double, "0000000000001440"), { value: 5, type: int64 }],
  ["a text", read(fieldType.varString, text("abc")), { value: "abc", type: { kind: "text" } }],
  ["a text for a number", read(fieldType.varString, text("12"), int64), { value: "12", type: int64 }],
  [
    "a decimal",
    read(fieldType.newDecimal, text("-1.25")),
    { value: "-1.25", type: { kind: "decimal", width: 3, scale: 2 } },
  ],
  ["a blob", read(fieldType.blob, "02ff00"), { value: Uint8Array.of(255, 0), type: { kind: "bytes" } }],
  ["a blob for a text", read(fieldType.blob, text("é"), { kind: "text" }), { value: "é", type: { kind: "text" } }],
  ["a date", read(fieldType.date, "04e8070a04"), { value: "2024-10-04", type: { kind: "date" } }],
  [
    "a datetime",
    read(fieldType.datetime, "0be807021d0c223890d00300"),
    { value: "2024-02-29 12:34:56.250000", type: { kind: "timestamp" } },
  ],
  [
    "a date for an instant",
    read(fieldType.datetime, "04e8070a04", { kind: "timestamptz" }),
    { value: "2024-10-04 00:00:00", type: { kind: "timestamptz" } },
  ],
  ["a time", read(fieldType.time, "08010100000002030a"), { value: "-26:03:10", type: { kind: "time" } }],
] as const) {
  test(`${name} is read`, () => assert.deepEqual(got, want));
}

test("NULLs have no value, and types are remembered", () => {
  const wanted = [undefined, undefined];
  const first = readParameters(
    new ByteReader(Buffer.from("02010800080001000000000000 00".replace(" ", ""), "hex")),
    wanted,
    [],
    new Map(),
  );
  assert.deepEqual(first.params, [{ value: 1n, type: int64 }, { value: null }]);
  const again = readParameters(
    new ByteReader(Buffer.from("01000500000000000000", "hex")),
    wanted,
    first.types,
    new Map(),
  );
  assert.deepEqual(again.params, [{ value: null }, { value: 5n, type: int64 }]);
});

test("long data stands for a value that is not there", () => {
  const reader = new ByteReader(Buffer.from([0, 1, fieldType.varString, 0]));
  const { params } = readParameters(reader, [undefined], [], new Map([[0, [Buffer.from("a"), Buffer.from("b")]]]));
  assert.deepEqual(params, [{ value: "ab", type: { kind: "text" } }]);
});

for (const [name, bytes] of [
  ["no bitmap", []],
  ["no types", [0, 0]],
  ["a value that is cut off", [0, 1, fieldType.longlong, 0, 1]],
  ["a date of no length", [0, 1, fieldType.date, 0, 3, 1, 1, 1]],
  ["text that is no UTF-8", [0, 1, fieldType.varString, 0, 1, 0xff]],
] as const) {
  test(`${name} is refused`, () => {
    assert.throws(() => readParameters(new ByteReader(Buffer.from(bytes)), [undefined], [], new Map()), {
      name: "MysqlError",
    });
  });
}
