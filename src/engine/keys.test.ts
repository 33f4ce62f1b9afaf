import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  afterPrefix,
  logKey,
  logKeyOffset,
  makeKey,
  partitionKey,
  prefixRange,
  readU64,
  tables,
  writeU64,
} from "./keys.ts";

const integer = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER));

test("numbers come back as they were written", () => {
  fc.assert(
    fc.property(integer, (value) => {
      const bytes = Buffer.alloc(10);
      writeU64(bytes, 1, value);
      assert.equal(readU64(bytes, 1), value);
      assert.equal(logKeyOffset(logKey(1, 2, value)), value);
    }),
  );
});

test("keys are ordered as what they are made of", () => {
  const parts = fc.tuple(integer, fc.nat(10_000), integer);
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const order = a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
      assert.equal(Math.sign(Buffer.compare(logKey(...a), logKey(...b))), Math.sign(order));
      const numbers = a[0] - b[0];
      assert.equal(
        Math.sign(Buffer.compare(makeKey(tables.stream, a[0]), makeKey(tables.stream, b[0]))),
        Math.sign(numbers),
      );
    }),
  );
});

test("a prefix's range holds every key that starts with it, and no other", () => {
  const start = fc.uint8Array({ minLength: 1, maxLength: 3 }).filter((bytes) => bytes.some((byte) => byte < 0xff));
  fc.assert(
    fc.property(start, fc.uint8Array({ maxLength: 4 }), (prefix, other) => {
      const end = afterPrefix(prefix);
      const inside = Buffer.concat([prefix, other]);
      assert.ok(Buffer.compare(inside, prefix) >= 0 && Buffer.compare(inside, end) < 0);
      const startsWith = Buffer.compare(Buffer.from(other).subarray(0, prefix.length), prefix) === 0;
      const inRange = Buffer.compare(other, prefix) >= 0 && Buffer.compare(other, end) < 0;
      assert.equal(inRange, startsWith);
    }),
  );
  assert.throws(() => afterPrefix(Buffer.of(0xff, 0xff)));
});

test("tables do not overlap", () => {
  const tags = Object.values(tables);
  assert.equal(new Set(tags).size, tags.length);
  const { from, to } = prefixRange(tables.log, 7);
  assert.ok(Buffer.compare(logKey(7, 0, 0), from) >= 0 && Buffer.compare(logKey(7, 9_999, 2 ** 53 - 1), to) < 0);
  assert.ok(Buffer.compare(logKey(8, 0, 0), to) >= 0);
  assert.notEqual(Buffer.compare(partitionKey(7, 0), logKey(7, 0, 0)), 0);
});
