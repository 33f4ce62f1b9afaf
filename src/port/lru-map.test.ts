import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { LruMap } from "./lru-map.ts";

describe("a map that forgets what was unused for longest", () => {
  test("by count", () => {
    const map = new LruMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    assert.equal(map.get("a"), 1);
    map.set("c", 3);
    assert.equal(map.get("b"), undefined);
    assert.deepEqual([map.get("a"), map.get("c"), map.size], [1, 3, 2]);
  });

  test("by weight; what is too heavy by itself is not kept, and drives nothing out", () => {
    const map = new LruMap<string, string>(5, (text) => text.length);
    map.set("a", "12");
    map.set("b", "34");
    map.set("c", "123456");
    assert.deepEqual([map.weight, map.has("a"), map.has("b"), map.has("c")], [4, true, true, false]);
    map.set("d", "1234");
    assert.deepEqual([map.weight, map.has("a"), map.has("b"), map.has("d")], [4, false, false, true]);
    map.set("d", "123456");
    assert.deepEqual([map.weight, map.size], [0, 0]);
  });

  test("as a list does it", () => {
    const key = fc.nat(7);
    const step = fc.oneof(
      fc.record({ kind: fc.constant("set"), key, weight: fc.nat(6) }),
      fc.record({ kind: fc.constantFrom("get", "has", "delete", "shift", "clear"), key, weight: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const map = new LruMap<number, { weight: number }>(10, ({ weight }) => weight);
        let model: { key: number; value: { weight: number } }[] = [];
        const without = (key: number) => model.filter((each) => each.key !== key);
        for (const { kind, key, weight } of steps) {
          const known = model.find((each) => each.key === key);
          if (kind === "set") {
            const value = { weight };
            map.set(key, value);
            model = [...without(key), { key, value }];
            while (model.reduce((sum, each) => sum + each.value.weight, 0) > 10) model.shift();
          } else if (kind === "get") {
            assert.equal(map.get(key), known?.value);
            if (known !== undefined) model = [...without(key), known];
          } else if (kind === "delete") {
            map.delete(key);
            model = without(key);
          } else if (kind === "clear") {
            map.clear();
            model = [];
          } else if (kind === "shift") {
            assert.equal(map.shift(), model.shift()?.value);
          } else assert.equal(map.has(key), known !== undefined);
          assert.equal(map.size, model.length);
          assert.equal(
            map.weight,
            model.reduce((sum, each) => sum + each.value.weight, 0),
          );
        }
      }),
    );
  });
});
