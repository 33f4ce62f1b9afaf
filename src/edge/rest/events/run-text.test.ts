import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runText } from "./run-text.ts";

function results(partition: number, baseOffset: number, count: number): string {
  return Array.from({ length: count }, (_, i) =>
    JSON.stringify({ status: "appended", partition, offset: baseOffset + i }),
  ).join(",");
}

test("any runs, one after another, are written as JSON would be", () => {
  const run = fc.record({
    partition: fc.nat(12),
    offset: fc.oneof(fc.nat(1_200), fc.integer({ min: 0, max: 2 ** 52 }), fc.constantFrom(0, 99_990, 2 ** 32 - 5)),
    count: fc.oneof(fc.integer({ min: 1, max: 150 }), fc.integer({ min: 900, max: 2_000 })),
  });
  fc.assert(
    fc.property(fc.array(run, { maxLength: 8 }), (runs) => {
      for (const { partition, offset, count } of runs) {
        const text = runText(partition, offset, count);
        const expected = results(partition, offset, count);
        if (String(offset).length === String(offset + count - 1).length && expected.length <= 64 * 1024) {
          assert.equal(text, expected);
        } else assert.equal(text, undefined);
      }
    }),
  );
});
