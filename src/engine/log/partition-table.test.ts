import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PartitionTable } from "./partition-table.ts";

function order(place: string): number {
  const [stream, partition] = place.split(",").map(Number);
  return stream! * 10_000 + partition!;
}

test("a table does as a map of its partitions does", () => {
  const place = fc.tuple(fc.nat(3), fc.oneof(fc.nat(4), fc.nat(9_999)));
  const act = fc.record({ place, value: fc.option(fc.nat(), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const table = new PartitionTable<number>();
      const model = new Map<string, number>();
      for (const { place: at, value } of acts) {
        if (value === undefined) {
          table.delete(...at);
          model.delete(`${at}`);
        } else {
          table.set(...at, value);
          model.set(`${at}`, value);
        }
        assert.equal(table.get(...at), value);
        assert.equal(table.size, model.size);
      }
      for (const { place: at } of acts) assert.equal(table.get(...at), model.get(`${at}`));
      const inOrder = [...model].sort(([a], [b]) => order(a) - order(b)).map(([, value]) => value);
      assert.deepEqual([...table.values()], inOrder);
    }),
  );
});
