import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { copyInto } from "./bytes.ts";

test("bytes are copied as `set` copies them, to and from shared memory, and nothing beside them", () => {
  const property = fc.property(fc.uint8Array({ maxLength: 600, size: "max" }), fc.nat(20), (bytes, at) => {
    const expected = Buffer.alloc(700, 7);
    expected.set(bytes, at);
    const shared = Buffer.from(new SharedArrayBuffer(700)).fill(7);
    assert.equal(copyInto(shared, at, bytes), at + bytes.length);
    assert.ok(shared.equals(expected));
    const back = Buffer.alloc(700, 7);
    copyInto(back, at, shared.subarray(at, at + bytes.length));
    assert.ok(back.equals(expected));
  });
  fc.assert(property);
});
