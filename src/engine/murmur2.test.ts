import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { murmur2, partitionOfKey } from "./murmur2.ts";

// The values that the tests of Kafka's Java client and of its ports check.
for (const [key, hash] of [
  ["21", -973932308],
  ["foobar", -790332482],
  ["a-little-bit-long-string", -985981536],
  ["a-little-bit-longer-string", -1486304829],
  ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
  ["abc", 479470107],
  ["", 275646681],
  ["1", -1993445489],
  ["12", 126087238],
  ["123", -267702483],
  ["1234", -1614185708],
  ["12345", -1188365604],
] as const) {
  test(`murmur2 of "${key}"`, () => assert.equal(murmur2(Buffer.from(key)), hash));
}

/** The same hash by plain unsigned arithmetic on big integers, slow and hard to get wrong. */
function reference(bytes: Uint8Array): number {
  const m = 0x5bd1e995n;
  const wrap = (value: bigint) => BigInt.asUintN(32, value);
  let hash = wrap(0x9747b28cn ^ BigInt(bytes.length));
  const whole = bytes.length - (bytes.length % 4);
  for (let at = 0; at < whole; at += 4) {
    let word = wrap(BigInt(new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true)) * m);
    word = wrap((word ^ (word >> 24n)) * m);
    hash = wrap(hash * m) ^ word;
  }
  const rest = [...bytes.subarray(whole)];
  if (rest.length > 0) {
    hash ^= rest.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
    hash = wrap(hash * m);
  }
  hash = wrap((hash ^ (hash >> 13n)) * m);
  return Number(BigInt.asIntN(32, hash ^ (hash >> 15n)));
}

test("any bytes hash as by plain arithmetic", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => assert.equal(murmur2(bytes), reference(bytes))));
});

for (const [key, partitions, partition] of [
  ["foobar", 10, 6],
  ["foobar", 50, 16],
  ["abc", 1, 0],
  ["599999", 12, 3],
  ["21", 1000, (-973932308 & 0x7fffffff) % 1000],
] as const) {
  test(`"${key}" among ${partitions} partitions`, () => {
    assert.equal(partitionOfKey(Buffer.from(key), partitions), partition);
  });
}
