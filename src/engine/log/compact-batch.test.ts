import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "../errors.ts";
import { expandedBytesMax } from "./compact-batch.ts";
import {
  BatchCursor,
  completeBatch,
  type EncodedBatch,
  encodeBatch,
  headerBytes,
  type RecordInput,
  sealBatch,
  withoutRecords,
} from "./record-batch.ts";

const nowMs = 1_700_000_000_000;
const key = Buffer.from("key");
const place = {
  baseOffset: 7,
  appendTimeMs: nowMs,
  prefixTimestampMs: nowMs,
  prefixRetentionMs: nowMs,
  bytesBefore: 0,
};
const knownNames = ["ce_specversion", "ce_id", "ce_source", "ce_type", "ce_subject", "ce_time", "content-type"];

function number(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...number(value >>> 7)];
}

function optional(bytes: Uint8Array | undefined): number[] {
  return bytes === undefined ? [0] : [...number(bytes.length + 1), ...bytes];
}

/** Compact records as the comment of compact-batch.ts has them, put together by the letter. */
function compact(records: readonly RecordInput[]): Buffer {
  const names = ["", ...knownNames];
  const last = new Map<string, string>([
    ["ce_specversion", Buffer.from("1.0").toString("hex")],
    ["content-type", Buffer.from("application/json").toString("hex")],
  ]);
  const bytes: number[] = [];
  for (const { key: given, value, headers = [] } of records) {
    bytes.push(...number(given === undefined ? 0 : given.length + 1));
    bytes.push(...number(value === undefined ? 0 : value.length + 1), ...number(headers.length));
    bytes.push(...(given ?? []), ...(value ?? []));
    for (const header of headers) {
      const text = header.value === undefined ? "none" : Buffer.from(header.value).toString("hex");
      const known = names.indexOf(header.key);
      if (known > 0 && last.get(header.key) === text) bytes.push(known | 128);
      else if (known > 0) bytes.push(known, ...optional(header.value as Uint8Array | undefined));
      else {
        const name = Buffer.from(header.key);
        bytes.push(0, ...number(name.length), ...name, ...optional(header.value as Uint8Array | undefined));
        if (names.length < 128) names.push(header.key);
      }
      last.set(header.key, text);
    }
  }
  return Buffer.from(bytes);
}

function batchOf(body: Uint8Array, count: number, expandedBytes: number): EncodedBatch {
  const bytes = Buffer.concat([Buffer.alloc(headerBytes), body]);
  return completeBatch(bytes, count, nowMs, expandedBytes);
}

function expandedBytesOf(records: readonly RecordInput[]): number {
  return encodeBatch(records, nowMs).bytes.length - headerBytes;
}

/** A record's bytes as every reader sees them. */
function read(batch: EncodedBatch): Buffer {
  sealBatch(batch, key, place);
  return Buffer.from(new BatchCursor(key, batch.bytes).bytes.subarray(headerBytes));
}

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 20 }),
  fc.constantFrom(0, 126, 127, 128, 1_100).map((length) => Buffer.alloc(length, "x")),
);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const name = fc.oneof(
  fc.constantFrom(...knownNames, "a", "b"),
  fc.string({ maxLength: 4 }),
  fc.constant("n".repeat(200)),
);
const header = fc.record({
  key: name,
  value: maybe(
    fc.oneof(
      bytes,
      fc.constantFrom("1.0", "application/json", "v").map((text) => Buffer.from(text)),
    ),
  ),
});
const records = fc.array(
  fc.record({ key: maybe(bytes), value: maybe(bytes), headers: fc.array(header, { maxLength: 6 }) }),
  { minLength: 1, maxLength: 8 },
) as fc.Arbitrary<RecordInput[]>;

test("compact records are read as if they were not", () => {
  fc.assert(
    fc.property(records, (given) => {
      const batch = batchOf(compact(given), given.length, expandedBytesOf(given));
      assert.deepEqual(read(batch), encodeBatch(given, nowMs).bytes.subarray(headerBytes));
    }),
  );
});

test("more names than have numbers are read as well", () => {
  const given = Array.from({ length: 3 }, (_, record) => ({
    headers: Array.from({ length: 150 }, (_, i) => ({ key: `name ${i}`, value: Buffer.from(`${i % (record + 1)}`) })),
  }));
  const batch = batchOf(compact(given), 3, expandedBytesOf(given));
  assert.deepEqual(read(batch), encodeBatch(given, nowMs).bytes.subarray(headerBytes));
});

test("a batch without some of its records has the others", () => {
  const given = [1, 2, 3].map((i) => ({ value: Buffer.of(i), headers: [{ key: "ce_type", value: Buffer.from("t") }] }));
  const batch = batchOf(compact(given), 3, expandedBytesOf(given));
  const kept = encodeBatch([given[0]!, given[2]!], nowMs).bytes.subarray(headerBytes);
  assert.deepEqual(read(withoutRecords(batch, new Set([1]))), kept);
});

function isDamage(error: unknown): boolean {
  return error instanceof EngineError && error.reason === "internal" && /damaged/.test(error.message);
}

test("compact records that are wrong are damage, even where the sums are right", () => {
  const good = { value: Buffer.from("v"), headers: [{ key: "a", value: Buffer.from("1") }, { key: "ce_id" }] };
  const body = compact([good, good]);
  const expanded = expandedBytesOf([good, good]);
  assert.ok(read(batchOf(body, 2, expanded)));
  for (const [what, wrong] of [
    ["fewer records", batchOf(body, 1, expanded)],
    ["more records", batchOf(body, 3, expanded)],
    ["less room", batchOf(body, 2, expanded - 1)],
    ["more room", batchOf(body, 2, expanded + 1)],
    ["far more room", batchOf(body, 2, expandedBytesMax + 1)],
    ["a name that nobody gave", batchOf(Buffer.of(0, 0, 1, 8, 1), 1, 33)],
    ["a value that nobody gave", batchOf(Buffer.of(0, 0, 1, 2 | 128), 1, 37)],
    ["the last value of no name", batchOf(Buffer.of(0, 0, 1, 128, 1, 97), 1, 33)],
    ["a number that does not end", batchOf(Buffer.of(0, 0, 128, 128, 128, 128, 128), 1, 24)],
    ["a key beyond the end", batchOf(Buffer.of(9, 0, 0), 1, 32)],
    ["a value beyond the end", batchOf(Buffer.of(0, 255, 255, 255, 127, 0), 1, 24)],
  ] as const) {
    assert.throws(() => read(wrong), isDamage, what);
  }
  for (let length = 0; length < body.length; length++) {
    assert.throws(() => read(batchOf(body.subarray(0, length), 2, expanded)), isDamage, `${length} bytes`);
  }
});

test("no bytes make anything but records or damage", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(5), fc.nat(300), (body, count, expanded) => {
      try {
        read(batchOf(body, count, Math.max(expanded, body.length)));
      } catch (error) {
        assert(isDamage(error), String(error));
      }
    }),
    { numRuns: 2_000 },
  );
});
