import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  BatchCursor,
  type EncodedBatch,
  encodeBatch,
  headerBytes,
  type RecordInput,
  sealBatch,
} from "../../../engine/log/record-batch.ts";
import { recordCodec } from "./codec.ts";
import { encodeRecordsInTurns, parseRecords, parseRecordsInTurns, type RecordJson, recordText } from "./json.ts";

const nowMs = 1_700_000_000_123;
const codec = recordCodec();
const key = Buffer.from("key");

function decode(text: string) {
  return shown(codec.decode(Buffer.from(text), nowMs));
}

/** Without the header, which is written later, but for the checksum in it. */
function shown(batch: EncodedBatch | undefined) {
  if (batch === undefined) return undefined;
  const { bytes, ...rest } = batch;
  return { ...rest, sum: bytes.readUInt32LE(8), body: bytes.subarray(headerBytes) };
}

/** What the longer way makes of the same body. */
function reference(text: string) {
  const { records } = JSON.parse(text) as { records: RecordJson[] };
  return shown(encodeBatch(parseRecords(records), nowMs));
}

const bytes = fc.uint8Array({ maxLength: 300 });
const base64 = bytes.map((value) => Buffer.from(value).toString("base64"));
const timestamp = fc.integer({ min: 0, max: 999_999_999_999_999 });

const json = fc
  .array(
    fc
      .record({ key: base64, value: base64, timestamp_ms: timestamp }, { requiredKeys: [] })
      .chain((record) => fc.shuffledSubarray(Object.entries(record), { minLength: 0 }))
      .map((entries) => Object.fromEntries(entries)),
    { minLength: 1, maxLength: 20 },
  )
  .map((records) => ({ records }));

/** Proves: others get their turns while a large request is read, and what is read is the same. */
test("many records are read in turns as they are at once", async () => {
  const records = Array.from(
    { length: 200_000 },
    (_, i): RecordJson => ({
      ...(i % 3 === 0 ? {} : { key: Buffer.from(`k${i}`).toString("base64") }),
      value: Buffer.from(`value ${i}`).toString("base64"),
    }),
  );
  let turns = 0;
  const encoding = encodeRecordsInTurns(records, nowMs);
  const parsing = parseRecordsInTurns(records);
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const encoded = shown(await encoding);
  const parsed = await parsing;
  isDone = true;
  assert.deepEqual(parsed, parseRecords(records));
  assert.deepEqual(shown(encodeBatch(parsed, nowMs)), encoded);
  assert(turns > 5, `${turns} turns`);
  assert.equal(await encodeRecordsInTurns([{}, { headers: [{ key: "h" }] }], nowMs), undefined);
  await assert.rejects(encodeRecordsInTurns([{}, { value: "?" }], nowMs), /records\[1\]\.value/);
  await assert.rejects(parseRecordsInTurns([{}, { value: "?" }]), /records\[1\]\.value/);
});

test("a body is decoded as on the longer way, whatever the order of its fields and the space around them", () => {
  fc.assert(
    fc.property(json, fc.constantFrom(undefined, 1, "\t", "\n \r\n"), (body, space) => {
      const text = JSON.stringify(body, undefined, space);
      const decoded = decode(text);
      // Space before a colon is none of JSON.stringify's, so all of these are taken.
      assert.ok(decoded, text);
      assert.deepEqual(decoded, reference(text));
    }),
  );
});

for (const length of [0, 1, 2, 3, 11, 12, 13, 15, 16, 17, 23, 24, 25, 47, 48, 49, 1000]) {
  test(`a value of ${length} bytes of every kind is decoded`, () => {
    const value = Buffer.from(Array.from({ length }, (_, i) => (i * 37 + 250) % 256)).toString("base64");
    const text = `{"records":[{"value":"${value}"}]}`;
    assert.deepEqual(decode(text), reference(text));
  });
}

/** Everything else is left to the way that knows what to say of it. */
for (const text of [
  "",
  "{}",
  "[]",
  '{"records":[]}',
  '{"records":{}}',
  '{"records":[{}',
  '{"records":[{}]',
  '{"records":[{}]}x',
  '{"records":[{}],"match_offset":1}',
  '{"match_offset":1,"records":[{}]}',
  '{"records":[{},]}',
  '{"records":[{}{}]}',
  '{"records":[null]}',
  '{"records":[{"value":null}]}',
  '{"records":[{"value":1}]}',
  '{"records":[{"value":"aGk="},{"value":"aGk"}]}',
  '{"records":[{"value":"aG="}]}',
  '{"records":[{"value":"a==="}]}',
  '{"records":[{"value":"aGk=aGk="}]}',
  '{"records":[{"value":"aGk\\u003d"}]}',
  '{"records":[{"value":"a-_b"}]}',
  '{"records":[{"value":"aG k"}]}',
  `{"records":[{"value":"${"A".repeat(15)}\u00e9${"A".repeat(16)}"}]}`,
  '{"records":[{"value":"aGk=","value":"aGk="}]}',
  '{"records":[{"value":"aGk=",}]}',
  '{"records":[{"valve":"aGk="}]}',
  '{"records":[{"headers":[]}]}',
  '{"records":[{"timestamp_ms":-1}]}',
  '{"records":[{"timestamp_ms":1.5}]}',
  '{"records":[{"timestamp_ms":1e3}]}',
  '{"records":[{"timestamp_ms":01}]}',
  '{"records":[{"timestamp_ms":"1"}]}',
  '{"records":[{"timestamp_ms":}]}',
  '{"records":[{"timestamp_ms":1234567890123456}]}',
  '{"records":[{"timestamp_ms":1,"timestamp_ms":1}]}',
  '\ufeff{"records":[{}]}',
  '{"records":[{}]}\0',
  '{"records":[{"value":"aGk=',
  '{"records":[{"value":"',
]) {
  test(`${JSON.stringify(text)} is not taken`, () => assert.equal(decode(text), undefined));
}

test("what a longer body left behind is not read", () => {
  assert.ok(decode(`{"records":[{"value":"${"A".repeat(40)}"},{"value":"aGk="}]}`));
  assert.equal(decode('{"records":[{"value":"AAAA'), undefined);
  assert.equal(decode('{"records":[{"value":"AAAA"}'), undefined);
});

test("a body with more small records than there is room for is not taken", () => {
  assert.equal(decode(`{"records":[${Array.from({ length: 100_000 }, () => "{}").join(",")}]}`), undefined);
});

test("nor is one with a key after its value for which there is no room to change places", () => {
  const small = Array.from({ length: 46_000 }, () => "{}").join(",");
  assert.equal(decode(`{"records":[${small},{"value":"AAAA","key":"${"A".repeat(800_000)}"}]}`), undefined);
});

const records: fc.Arbitrary<RecordInput[]> = fc.array(
  fc.record({
    key: fc.option(bytes, { nil: undefined }),
    value: fc.option(bytes, { nil: undefined }),
    timestampMs: fc.option(timestamp, { nil: undefined }),
    headers: fc.array(
      fc.record({ key: fc.string({ unit: "binary", maxLength: 20 }), value: fc.option(bytes, { nil: undefined }) }),
      { maxLength: 3 },
    ),
  }),
  { minLength: 1, maxLength: 30 },
);

function cursorOver(inputs: readonly RecordInput[], baseOffset: number): BatchCursor {
  const batch = encodeBatch(inputs, nowMs);
  const place = { baseOffset, appendTimeMs: 0, prefixTimestampMs: 0, prefixRetentionMs: 0, bytesBefore: 0 };
  sealBatch(batch, key, place);
  return new BatchCursor(key, batch.bytes);
}

function textsOf(cursor: BatchCursor): string[] {
  const texts: string[] = [];
  while (cursor.next()) texts.push(recordText(cursor));
  return texts;
}

test("records are written as on the longer way, as many as fit", () => {
  const offsets = fc.constantFrom(0, 7, 8, 95, 99_999, 2 ** 53 - 100);
  fc.assert(
    fc.property(records, offsets, fc.nat(12_000), fc.boolean(), (inputs, base, bytesMax, first) => {
      const texts = textsOf(cursorOver(inputs, base)).map((text, i) => (first && i === 0 ? text : `,${text}`));
      let expected = "";
      let fitting = 0;
      for (const text of texts) {
        if (Buffer.byteLength(expected + text) > bytesMax) break;
        expected += text;
        fitting++;
      }
      const cursor = cursorOver(inputs, base);
      cursor.next();
      const written = codec.encode(cursor, bytesMax, first)?.toString();
      assert.equal(written ?? "", expected);
      // The cursor stands on the last one written, and goes on from there.
      if (fitting > 0) assert.equal(cursor.offset, base + fitting - 1);
      assert.deepEqual(fitting > 0 ? textsOf(cursor).length : 0, fitting > 0 ? texts.length - fitting : 0);
    }),
  );
});

test("the records of a batch that is longer than the codec's memory are written, too", () => {
  const inputs = Array.from({ length: 3_000 }, (_, i): RecordInput => ({ value: Buffer.alloc(1_000, i) }));
  const texts = textsOf(cursorOver(inputs, 5));
  const cursor = cursorOver(inputs, 5);
  let written = "";
  while (cursor.next()) written += codec.encode(cursor, 500_000, written === "")!.toString();
  assert.equal(written, texts.join(","));
});
