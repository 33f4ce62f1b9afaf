import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PlaceTable } from "./place-table.ts";

const key = fc.oneof(
  fc.nat(40),
  fc.nat(3_000),
  fc.maxSafeNat(),
  fc.nat(30).map((i) => i * 2 ** 32),
);
const act = fc.record({ key, numbers: fc.option(fc.tuple(fc.nat(), fc.nat()), { nil: undefined }) });

test("a table does as a map does", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 3_000, size: "max" }), (acts) => {
      const table = new PlaceTable(2);
      const model = new Map<number, [number, number]>();
      const read = (at: number) => (at < 0 ? undefined : [table.numbers[at], table.numbers[at + 1]]);
      for (const { key: of, numbers } of acts) {
        assert.deepEqual(read(table.find(of)), model.get(of));
        if (numbers === undefined) {
          table.delete(of);
          model.delete(of);
        } else {
          if (!model.has(of)) assert.deepEqual(read(table.add(of, 7)), [7, 0]);
          table.numbers.set(numbers, table.find(of));
          model.set(of, numbers);
        }
      }
      assert.equal(table.size, model.size);
      assert.deepEqual(
        [...table.keys()],
        [...model.keys()].sort((a, b) => a - b),
      );
      for (const [of, numbers] of model) assert.deepEqual(read(table.find(of)), numbers);
      for (const of of model.keys()) table.delete(of);
      assert.deepEqual([...table.keys()], []);
    }),
    { numRuns: 60 },
  );
});

test("ten thousand partitions are found, before and after half of them are deleted", () => {
  const table = new PlaceTable(1);
  const keys = Array.from({ length: 10_000 }, (_, i) => (1 + (i % 100)) * 16_384 + Math.floor(i / 100));
  for (const [i, of] of keys.entries()) table.add(of, i);
  for (let i = 0; i < keys.length; i += 2) table.delete(keys[i]!);
  for (const [i, of] of keys.entries()) {
    const at = table.find(of);
    assert.equal(i % 2 === 0 ? at : table.numbers[at], i % 2 === 0 ? -1 : i);
  }
});
