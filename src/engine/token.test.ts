import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "./errors.ts";
import { limits } from "./limits.ts";
import { formatToken, mergeTokens, parseToken } from "./token.ts";

const entry = fc.record(
  { stream: fc.integer({ min: 1 }), partition: fc.nat(3), offset: fc.maxSafeNat() },
  { noNullPrototype: true },
);
const token = fc.array(entry, { maxLength: 5 });

test("a token is the compact JSON of its entries, and reads back as it was", () => {
  fc.assert(
    fc.property(token, (given) => {
      assert.equal(formatToken(given), JSON.stringify(given));
      assert.deepEqual(parseToken("token", formatToken(given)), given);
    }),
  );
});

test("merging keeps the higher offset of each partition, whatever the order", () => {
  fc.assert(
    fc.property(token, token, (a, b) => {
      const highest = new Map<string, number>();
      for (const { stream, partition, offset } of [...a, ...b]) {
        const key = `${stream}/${partition}`;
        highest.set(key, Math.max(highest.get(key) ?? 0, offset));
      }
      for (const merged of [mergeTokens(a, b), mergeTokens(b, a)]) {
        assert.equal(merged.length, highest.size);
        for (const { stream, partition, offset } of merged) assert.equal(highest.get(`${stream}/${partition}`), offset);
      }
    }),
  );
});

test("an error names the field and the entry at fault", () => {
  for (const [text, field] of [
    ["x", "Token"],
    ['[{"stream":1,"partition":0,"offset":0},{"stream":1,"partition":0}]', "Token[1].offset"],
    ['[{"stream":1,"partition":0,"offset":0,"more":1}]', "Token[0].more"],
  ] as const) {
    assert.throws(
      () => parseToken("Token", text),
      (error) => error instanceof EngineError && error.details["field"] === field,
    );
  }
});

test("a token has a bounded number of entries", () => {
  const entries = Array.from({ length: limits.tokenEntriesMax }, () => ({ stream: 1, partition: 0, offset: 0 }));
  assert.equal(parseToken("t", formatToken(entries)).length, limits.tokenEntriesMax);
  assert.throws(() => parseToken("t", formatToken([...entries, entries[0]!])), EngineError);
});

test("a zero below zero is zero", () => {
  const [entry] = parseToken("token", '[{"stream":1,"partition":-0,"offset":-0}]');
  assert.deepStrictEqual(entry, { stream: 1, partition: 0, offset: 0 });
});
