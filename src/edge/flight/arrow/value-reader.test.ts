import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Bool,
  DateDay,
  DateMillisecond,
  Decimal,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int64,
  List,
  MessageReader,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Table,
  TimeMicrosecond,
  TimestampMicrosecond,
  TimestampSecond,
  tableToIPC,
  Uint16,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import type { SqlParameter } from "../../../engine/sql/sql.ts";
import { ArrowFormatError, readMessage } from "./schema-reader.ts";
import { readRows } from "./value-reader.ts";

const room = () => ({ rowsMax: 100, values: { left: 1_000 } });

/** The metadata and the bodies of the messages of a stream, as Flight carries them. */
function messagesOf(stream: Uint8Array): { metadata: Uint8Array; body: Uint8Array }[] {
  const messages: { metadata: Uint8Array; body: Uint8Array }[] = [];
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const bodies = new MessageReader(stream);
  for (let at = 0; at + 8 < stream.byteLength; ) {
    const length = view.getInt32(at + 4, true);
    if (length === 0) break;
    const bodyLength = Number(bodies.readMessage()!.bodyLength);
    bodies.readMessageBody(bodyLength);
    const end = at + 8 + length;
    messages.push({ metadata: stream.subarray(at + 8, end), body: stream.subarray(end, end + bodyLength) });
    at = end + bodyLength;
  }
  return messages;
}

function read(stream: Uint8Array): SqlParameter[][] {
  const limits = room();
  const [first, ...rest] = messagesOf(stream);
  const schema = readMessage(first!.metadata);
  assert.ok(schema.kind === "schema");
  return rest.flatMap(({ metadata, body }) => {
    const message = readMessage(metadata);
    assert.ok(message.kind === "batch");
    return readRows(schema.fields, message.header, body, limits);
  });
}

test("numbers, text, bytes, times and lists become parameters of their types", () => {
  const day = Date.UTC(2024, 1, 29);
  const table = new Table({
    a: vectorFromArray([5n, null], new Int64()),
    b: vectorFromArray([1.5, 2.5], new Float64()),
    c: vectorFromArray(["ü", null], new Utf8()),
    d: vectorFromArray([true, false], new Bool()),
    e: vectorFromArray([new Date(day), new Date(0)], new DateDay()),
    f: vectorFromArray([new Date(day), null], new DateMillisecond()),
    g: vectorFromArray([day + 1, -1], new TimestampMicrosecond()),
    h: vectorFromArray([day, 0], new TimestampSecond("UTC")),
    i: vectorFromArray([3_723_000_001n, 0n], new TimeMicrosecond()),
    j: vectorFromArray([[1, 2], null], new List(new Field("item", new Float32()))),
    k: vectorFromArray(
      [
        [1, 2],
        [3, 4],
      ],
      new FixedSizeList(2, new Field("item", new Float64())),
    ),
    l: vectorFromArray([7, 65535], new Uint16()),
    m: vectorFromArray([{ x: 1n }, { x: 2n }], new Struct([new Field("x", new Int64())])),
  });
  const [first, second] = read(tableToIPC(table, "stream"));
  assert.deepEqual(first, [
    { value: 5n, type: { kind: "int64" } },
    { value: 1.5, type: { kind: "float64" } },
    { value: "ü" },
    { value: true, type: { kind: "boolean" } },
    { value: "2024-02-29", type: { kind: "date" } },
    { value: "2024-02-29", type: { kind: "date" } },
    { value: "2024-02-29 00:00:00.001000", type: { kind: "timestamp" } },
    { value: "2024-02-29 00:00:00.000000+00", type: { kind: "timestamptz" } },
    { value: "01:02:03.000001", type: { kind: "time" } },
    { value: [1, 2], type: { kind: "list", item: { kind: "float32" } } },
    { value: [1, 2], type: { kind: "list", item: { kind: "float64" }, size: 2 } },
    { value: 7, type: { kind: "uint16" } },
    { value: { x: 1n } },
  ]);
  assert.deepEqual(
    second!.map(({ value }) => value),
    [
      null,
      2.5,
      null,
      false,
      "1970-01-01",
      null,
      "1969-12-31 23:59:59.999000",
      "1970-01-01 00:00:00.000000+00",
      "00:00:00.000000",
      null,
      [3, 4],
      65535,
      { x: 2n },
    ],
  );
});

test("decimals", () => {
  const type = new Decimal(2, 10, 128);
  const data = makeData({
    type,
    length: 2,
    data: Uint32Array.of(12345, 0, 0, 0, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff),
  });
  const schema = new Schema([new Field("d", type, true)]);
  const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: 2, children: [data] }));
  const stream = RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true);
  assert.deepEqual(
    read(stream).map(([parameter]) => parameter!.value),
    ["123.45", "-0.01"],
  );
});

test("broken bytes are refused, whatever they are", () => {
  const table = new Table({
    a: vectorFromArray([5n, null], new Int64()),
    j: vectorFromArray([[1, 2], null], new List(new Field("item", new Float32()))),
  });
  const stream = tableToIPC(table, "stream");
  const messages = messagesOf(stream);
  let refused = 0;
  for (const [which, { metadata }] of messages.entries()) {
    for (let at = 0; at < metadata.byteLength; at++) {
      for (const byte of [0, 0x7f, 0xff]) {
        const broken = metadata.slice();
        broken[at] = byte;
        const parts = messages.map((message) => message.metadata);
        parts[which] = broken;
        try {
          const schema = readMessage(parts[0]!);
          const batch = readMessage(parts[1]!);
          if (schema.kind === "schema" && batch.kind === "batch") {
            readRows(schema.fields, batch.header, messages[1]!.body, room());
          }
        } catch (error) {
          assert.ok(error instanceof ArrowFormatError, String(error));
          refused++;
        }
      }
    }
  }
  assert.ok(refused > 50, `${refused}`);
});

test("a small message can't become a large one", () => {
  const table = new Table({
    a: vectorFromArray(
      Array.from({ length: 101 }, () => 1n),
      new Int64(),
    ),
  });
  assert.throws(() => read(tableToIPC(table, "stream")), /more than 100 rows/);
  const items = Array.from({ length: 2_000 }, () => 1);
  const wide = new Table({ a: vectorFromArray([items], new List(new Field("item", new Float32()))) });
  assert.throws(() => read(tableToIPC(wide, "stream")), /too many values/);
  const some = new Table({ a: vectorFromArray([items.slice(0, 300)], new List(new Field("item", new Float32()))) });
  const parts = [tableToIPC(some, "stream")];
  while (parts.length < 3) parts.push(parts[0]!);
  const batches = parts.flatMap((part) => messagesOf(part).slice(1));
  const schema = readMessage(messagesOf(parts[0]!)[0]!.metadata);
  const limits = room();
  const readAll = () => {
    for (const { metadata, body } of batches) {
      const message = readMessage(metadata);
      assert.ok(schema.kind === "schema" && message.kind === "batch");
      readRows(schema.fields, message.header, body, limits);
    }
  };
  assert.throws(readAll, /too many values/, "of all batches together");
});

test("a decimal has no more digits than there are", () => {
  for (const [scale, isTaken] of [
    [38, true],
    [39, false],
    [10 ** 8, false],
    [-39, false],
  ] as const) {
    const empty = new Table({ a: vectorFromArray([], new Decimal(scale, 38)) });
    const readSchema = () => readMessage(messagesOf(tableToIPC(empty, "stream"))[0]!.metadata);
    if (isTaken) readSchema();
    else assert.throws(readSchema, /the type of "a" is not supported/, String(scale));
  }
});

test("columns that share a buffer are no more bytes than were sent", () => {
  const texts = ["a", "b", "c"].map((name) => [name, vectorFromArray(["x".repeat(1_000)], new Utf8())] as const);
  const [first, second] = messagesOf(tableToIPC(new Table(Object.fromEntries(texts)), "stream"));
  const schema = readMessage(first!.metadata);
  const message = readMessage(second!.metadata);
  assert.ok(schema.kind === "schema" && message.kind === "batch");
  const { header } = message;
  assert.equal(readRows(schema.fields, header, second!.body, room())[0]!.length, 3);
  // Offsets and data of each column are those of the first, and nothing else is sent.
  const buffers = header.buffers.map((_, i) => header.buffers[i % 3]!);
  const end = Math.max(...buffers.map(([offset, length]) => offset + length));
  const body = second!.body.subarray(0, end);
  assert.throws(() => readRows(schema.fields, { ...header, buffers }, body, room()), ArrowFormatError);
});
