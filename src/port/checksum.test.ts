import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 as zlibCrc32 } from "node:zlib";
import fc from "fast-check";
import { crc32 } from "./checksum.ts";

/** Proves: what a file written with one of the two says is what the other finds, in memory of any kind. */
test("the checksum is zlib's for any length", () => {
  const property = fc.property(fc.uint8Array({ maxLength: 3_000, size: "max" }), fc.nat(3_000), (bytes, cut) => {
    const shared = Buffer.from(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    const at = Math.min(cut, bytes.length);
    const inParts = crc32(shared.subarray(at), crc32(shared.subarray(0, at)));
    assert.deepEqual([crc32(bytes), crc32(shared), inParts], Array(3).fill(zlibCrc32(bytes)));
  });
  fc.assert(property);
});
