import assert from "node:assert/strict";
import { test } from "node:test";
import { likePattern } from "./catalog.ts";

for (const [pattern, name, want] of [
  [undefined, "anything", true],
  ["", "", true],
  ["", "a", false],
  ["%", "", true],
  ["%", "orders", true],
  ["ord%", "orders", true],
  ["%ers", "orders", true],
  ["o%d%s", "orders", true],
  ["o%d%x", "orders", false],
  ["order_", "orders", true],
  ["order_", "order", false],
  ["_%_", "ab", true],
  ["_%_", "a", false],
  ["a.c", "abc", false],
  ["a\\_c", "a_c", true],
  ["a\\_c", "abc", false],
  ["100\\%", "100%", true],
  ["\\", "\\", true],
  ["_", "😀", true],
  ["Orders", "orders", false],
] as const) {
  test(`${pattern} and ${name}`, () => {
    assert.equal(likePattern(pattern)(name), want);
  });
}

test("a pattern of many wildcards is no burden", () => {
  const matches = likePattern(`${"%a".repeat(2_000)}b`);
  assert.equal(matches("a".repeat(4_000)), false);
});
