import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "../errors.ts";
import { logKey } from "../keys.ts";
import {
  BatchCursor,
  completeBatch,
  decodeHeader,
  encodeBatch,
  headerBytes,
  type RecordInput,
  sealBatch,
} from "./record-batch.ts";

const nowMs = 1_700_000_000_000;
const bytes = fc.uint8Array({ maxLength: 20 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const header = fc.record({ key: fc.string({ unit: "grapheme", maxLength: 8 }), value: maybe(bytes) });
const record = fc.record({
  key: maybe(bytes),
  value: maybe(bytes),
  headers: maybe(fc.array(header, { maxLength: 3 })),
  timestampMs: maybe(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
}) as fc.Arbitrary<RecordInput>;
const place = {
  baseOffset: 2 ** 53 - 1_000,
  appendTimeMs: nowMs,
  prefixTimestampMs: nowMs + 5,
  prefixRetentionMs: nowMs + 3,
  bytesBefore: 123_456_789_012,
};

/** A batch belongs to its key: its checksum covers both. */
const key = logKey(1, 2, place.baseOffset);

function encoded(records: readonly RecordInput[]): Buffer {
  const batch = encodeBatch(records, nowMs);
  sealBatch(batch, key, place);
  return batch.bytes;
}

function text(given: Uint8Array | string | undefined): string | undefined {
  return given === undefined ? undefined : Buffer.from(given).toString("hex");
}

/** A record in a form that can be compared: absent headers are none. */
function shown(given: RecordInput) {
  return {
    key: text(given.key),
    value: text(given.value),
    headers: (given.headers ?? []).map(({ key, value }) => [key, text(value)]),
    timestampMs: given.timestampMs ?? nowMs,
  };
}

test("records come out of a batch as they went in, with consecutive offsets", () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 6 }), (records) => {
      const cursor = new BatchCursor(key, encoded(records));
      for (const [i, given] of records.entries()) {
        assert.ok(cursor.next());
        assert.equal(cursor.offset, place.baseOffset + i);
        assert.deepEqual(shown(cursor as RecordInput), shown(given));
      }
      assert.equal(cursor.next(), false);
      assert.equal(cursor.endOffset, place.baseOffset + records.length);
    }),
  );
});

test("the header says where the batch stands", () => {
  const whole = encoded([{ timestampMs: 7 }, { timestampMs: 9 }, { timestampMs: 8 }]);
  assert.deepEqual(decodeHeader(key, whole.subarray(0, headerBytes)), {
    ...place,
    count: 3,
    maxTimestampMs: 9,
    bodyBytes: whole.length - headerBytes,
  });
});

test("seek finds every offset of the batch and none behind it", () => {
  const whole = encoded(Array.from({ length: 5 }, (_, i) => ({ value: Buffer.of(i) })));
  for (let i = 0; i < 5; i++) {
    const cursor = new BatchCursor(key, whole);
    assert.ok(cursor.seek(place.baseOffset + i));
    assert.deepEqual([...cursor.value!], [i]);
  }
  assert.equal(new BatchCursor(key, whole).seek(place.baseOffset + 5), false);
});

function isDamage(error: unknown): boolean {
  return error instanceof EngineError && error.reason === "internal" && /damaged/.test(error.message);
}

test("every flipped bit is noticed before a record is seen", () => {
  const whole = encoded([{ key: Buffer.from("k"), value: Buffer.from("value"), headers: [{ key: "h" }] }, {}]);
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const damaged = Buffer.from(whole);
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    assert.throws(() => new BatchCursor(key, damaged), isDamage, `bit ${bit & 7} of byte ${bit >> 3}`);
  }
});

test("a batch under a key that is not its own is noticed", () => {
  const whole = encoded([{ value: Buffer.from("v") }]);
  for (const other of [logKey(2, 2, place.baseOffset), logKey(1, 3, place.baseOffset), logKey(1, 2, 0)]) {
    assert.throws(() => new BatchCursor(other, whole), isDamage);
  }
});

test("a batch cut short or grown is noticed", () => {
  const whole = encoded([{ value: Buffer.alloc(50) }]);
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => new BatchCursor(key, whole.subarray(0, length)), isDamage, `${length} bytes`);
  }
  assert.throws(() => new BatchCursor(key, Buffer.concat([whole, Buffer.of(0)])), isDamage);
});

test("a view that is no Buffer is read as well", () => {
  const whole = encoded([{ value: Buffer.from("v") }]);
  const shifted = new Uint8Array(whole.length + 3);
  shifted.set(whole, 3);
  const cursor = new BatchCursor(key, shifted.subarray(3));
  assert.ok(cursor.next());
  assert.equal(cursor.value!.toString(), "v");
});

test("records that run over the end of a batch whose sums are right are damage", () => {
  const record = { key: Buffer.from("k"), headers: [{ key: "h", value: Buffer.from("v") }] };
  const read = (at: number, value: number) => {
    const batch = encodeBatch([record], nowMs);
    batch.bytes.writeUInt32LE(value, headerBytes + at);
    const summed = completeBatch(batch.bytes, 1, batch.maxTimestampMs);
    sealBatch(summed, key, place);
    const cursor = new BatchCursor(key, summed.bytes);
    while (cursor.next()) assert.ok(cursor.headers);
  };
  const isDamage = (error: unknown) => error instanceof EngineError && /damaged \(record/.test(error.message);
  // The record's length, its key's, its value's, how many headers it has, and the length of the first one's name.
  for (const at of [0, 4, 8, 12, 25]) assert.throws(() => read(at, 0x7fff_ffff), isDamage, `at ${at}`);
});
