import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordBatchReader, type Table, tableFromIPC, Vector } from "apache-arrow";
import type { SqlBatch, SqlColumn } from "../../../engine/sql/batch.ts";
import type { SqlType } from "../../../engine/sql/type.ts";
import { type ArrowMessage, recordBatches } from "./batch.ts";
import { encapsulated, schemaMessage } from "./schema.ts";
import { fieldOf } from "./type.ts";

/** A stream as a file of Arrow holds it. */
function stream(columns: readonly SqlColumn[], rows: number, bytesMax = 1e9): Buffer {
  const types = columns.map((column) => column.type);
  const fields = types.map((type, i) => fieldOf({ name: `c${i}`, type }));
  const batch: SqlBatch = { rows, columns };
  const messages: ArrowMessage[] = [...recordBatches(fields, types, batch, bytesMax)];
  return Buffer.concat([
    encapsulated(schemaMessage(fields)),
    ...messages.flatMap(({ metadata, body }) => [encapsulated(metadata), ...body]),
  ]);
}

function values(columns: readonly SqlColumn[], rows: number, bytesMax?: number): unknown[][] {
  const table: Table = tableFromIPC(stream(columns, rows, bytesMax));
  return columns.map((_, i) => [...table.getChildAt(i)!].map(plain));
}

function plain(value: unknown): unknown {
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Uint32Array || value instanceof Uint8Array) return [...value];
  if (value instanceof Vector) return [...(value as Iterable<unknown>)].map(plain);
  const { toJSON } = value as { toJSON?: () => object };
  return toJSON === undefined ? value : { ...toJSON.call(value) };
}

const scalar = (kind: Exclude<SqlType["kind"], "decimal" | "enum" | "list" | "struct" | "map">): SqlType => ({ kind });

function texts(given: readonly (string | null)[], type: SqlType = scalar("text")): SqlColumn {
  const data = Buffer.from(given.map((each) => each ?? "").join(""));
  const offsets = new Int32Array(given.length + 1);
  for (const [i, each] of given.entries()) offsets[i + 1] = offsets[i]! + Buffer.byteLength(each ?? "");
  return { layout: "bytes", type, validity: validityOf(given), offsets, data };
}

function validityOf(given: readonly unknown[]): Uint8Array | undefined {
  if (!given.includes(null)) return undefined;
  const bits = new Uint8Array(Math.ceil(given.length / 8));
  for (const [i, each] of given.entries()) if (each !== null) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}

function ints(given: readonly (number | null)[]): SqlColumn {
  const data = Int32Array.from(given, (each) => each ?? 0);
  return { layout: "fixed", type: scalar("int32"), validity: validityOf(given), data };
}

for (const [kind, data, want] of [
  ["int8", Int8Array.of(-1, 5), [-1, 5]],
  ["int16", Int16Array.of(-300, 5), [-300, 5]],
  ["int64", BigInt64Array.of(-(2n ** 63n), 5n), [-(2n ** 63n), 5n]],
  ["uint8", Uint8Array.of(255, 5), [255, 5]],
  ["uint16", Uint16Array.of(65535, 5), [65535, 5]],
  ["uint32", Uint32Array.of(2 ** 32 - 1, 5), [2 ** 32 - 1, 5]],
  ["uint64", BigUint64Array.of(2n ** 64n - 1n, 5n), [2n ** 64n - 1n, 5n]],
  ["float32", Float32Array.of(1.5, -2), [1.5, -2]],
  ["float64", Float64Array.of(0.1, -2), [0.1, -2]],
  ["date", Int32Array.of(0, 19_000), [0, 19_000 * 86_400_000]],
  ["time", BigInt64Array.of(0n, 5n), [0n, 5n]],
  ["timestamp", BigInt64Array.of(0n, 1_000n), [0, 1]],
  ["timestamptz", BigInt64Array.of(-1_000n, 1_000n), [-1, 1]],
  [
    "int128",
    BigInt64Array.of(-2n, -1n, 7n, 1n),
    [
      [0xfffffffe, 0xffffffff, 0xffffffff, 0xffffffff],
      [7, 0, 1, 0],
    ],
  ],
  [
    "uint128",
    BigUint64Array.of(1n, 2n ** 64n - 1n, 7n, 0n),
    [
      [1, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0],
      [7, 0, 0, 0, 0, 0, 0, 0],
    ],
  ],
  [
    "uuid",
    Uint8Array.from({ length: 32 }, (_, i) => i),
    ["00010203-0405-0607-0809-0a0b0c0d0e0f", "10111213-1415-1617-1819-1a1b1c1d1e1f"],
  ],
] as const) {
  test(`a column of ${kind}`, () => {
    assert.deepEqual(values([{ layout: "fixed", type: { kind }, validity: undefined, data }], 2), [want]);
  });
}

test("booleans, text, JSON, bytes, decimals, enums and NULL", () => {
  const bits: SqlColumn = {
    layout: "bits",
    type: scalar("boolean"),
    validity: Uint8Array.of(0b101),
    data: Uint8Array.of(0b001),
  };
  const decimals: SqlColumn = {
    layout: "fixed",
    type: { kind: "decimal", width: 10, scale: 2 },
    validity: undefined,
    data: BigInt64Array.of(12345n, 0n, -1n, -1n, 0n, 0n),
  };
  const enums: SqlColumn = {
    layout: "fixed",
    type: { kind: "enum", values: ["low", "hïgh"] },
    validity: Uint8Array.of(0b101),
    data: Uint8Array.of(1, 200, 0),
  };
  const columns = [
    bits,
    texts(["a", null, "ünd"]),
    texts(["{}", "1", null], scalar("json")),
    texts(["a", null, "bc"], scalar("bytes")),
    decimals,
    enums,
    { layout: "null", type: scalar("null") } as const,
    { layout: "null", type: scalar("int64") } as const,
    { layout: "null", type: { kind: "list", item: scalar("text") } } as const,
  ];
  assert.deepEqual(values(columns, 3), [
    [true, null, false],
    ["a", null, "ünd"],
    ["{}", "1", null],
    [[97], null, [98, 99]],
    [
      [12345, 0, 0, 0],
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      [0, 0, 0, 0],
    ],
    ["hïgh", null, "low"],
    [null, null, null],
    [null, null, null],
    [null, null, null],
  ]);
});

test("lists, vectors with a NULL among them, structs and maps", () => {
  const list: SqlColumn = {
    layout: "list",
    type: { kind: "list", item: scalar("text") },
    validity: Uint8Array.of(0b101),
    offsets: Int32Array.of(0, 2, 2, 3),
    items: texts(["x", null, "z"]),
  };
  const vector: SqlColumn = {
    layout: "list",
    type: { kind: "list", item: scalar("float32"), size: 2 },
    validity: Uint8Array.of(0b101),
    offsets: Int32Array.of(0, 2, 2, 4),
    items: {
      layout: "fixed",
      type: scalar("float32"),
      validity: Uint8Array.of(0b1101),
      data: Float32Array.of(1, 2, 3, 4),
    },
  };
  const pair = [
    { name: "a", type: scalar("int32") },
    { name: "b", type: scalar("text") },
  ];
  const struct: SqlColumn = {
    layout: "struct",
    type: { kind: "struct", fields: pair },
    validity: Uint8Array.of(0b011),
    fields: [ints([1, null, 3]), texts(["p", "q", null])],
  };
  const map: SqlColumn = {
    layout: "list",
    type: { kind: "map", key: scalar("text"), value: scalar("int32") },
    validity: undefined,
    offsets: Int32Array.of(0, 1, 1, 3),
    items: {
      layout: "struct",
      type: { kind: "struct", fields: pair },
      validity: undefined,
      fields: [texts(["k", "l", "m"]), ints([1, 2, null])],
    },
  };
  assert.deepEqual(values([list, vector, struct, map], 3), [
    [["x", null], null, ["z"]],
    [[1, null], null, [3, 4]],
    [{ a: 1, b: "p" }, { a: null, b: "q" }, null],
    [{ k: 1 }, {}, { l: 2, m: null }],
  ]);
});

test("an interval is months, days and nanoseconds", () => {
  const data = BigInt64Array.of(1n, 2n, 3n, 0n, -1n, 2n ** 62n);
  const column: SqlColumn = { layout: "fixed", type: scalar("interval"), validity: undefined, data };
  const [message] = [
    ...recordBatches([fieldOf({ name: "i", type: column.type })], [column.type], { rows: 2, columns: [column] }, 1e9),
  ];
  const body = Buffer.concat(message!.body);
  assert.deepEqual([body.readInt32LE(0), body.readInt32LE(4), body.readBigInt64LE(8)], [1, 2, 3000n]);
  assert.deepEqual([body.readInt32LE(16), body.readInt32LE(20), body.readBigInt64LE(24)], [0, -1, 2n ** 63n - 1n]);
});

test("rows too many for one message are split, wherever the split falls", () => {
  const rows = 1000;
  const numbers = Array.from({ length: rows }, (_, i) => (i % 3 === 0 ? null : i));
  const words = numbers.map((each) => (each === null ? null : `w${each}`));
  const flags: SqlColumn = {
    layout: "bits",
    type: scalar("boolean"),
    validity: validityOf(numbers),
    data: Uint8Array.from({ length: 125 }, (_, i) => i),
  };
  const lists: SqlColumn = {
    layout: "list",
    type: { kind: "list", item: scalar("int32") },
    validity: undefined,
    offsets: Int32Array.from({ length: rows + 1 }, (_, i) => Math.min(i, rows)),
    items: ints(numbers),
  };
  const columns = [ints(numbers), texts(words), flags, lists];
  const whole = values(columns, rows);
  for (const bytesMax of [10_000, 300, 1]) assert.deepEqual(values(columns, rows, bytesMax), whole, `${bytesMax}`);
  assert.equal([...RecordBatchReader.from(stream(columns, rows, 1))].length, rows);
});

test("the memory of the engine is sent as it lies", () => {
  const data = Float64Array.of(1, 2, 3);
  const type = scalar("float64");
  const column: SqlColumn = { layout: "fixed", type, validity: undefined, data };
  const [message] = [...recordBatches([fieldOf({ name: "f", type })], [type], { rows: 3, columns: [column] }, 1e9)];
  assert.equal(message!.body[0]!.buffer, data.buffer);
});

test("no rows and no columns", () => {
  assert.deepEqual(values([ints([])], 0), [[]]);
  assert.equal(tableFromIPC(stream([], 0)).numCols, 0);
});
