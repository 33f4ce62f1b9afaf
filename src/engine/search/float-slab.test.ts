import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FloatSlab } from "./float-slab.ts";

describe("memory for short vectors", () => {
  test("what was taken is apart from what is taken after it, within a piece and beyond it", () => {
    const slab = new FloatSlab(10);
    const lengths = [4, 4, 4, 25, 3];
    const taken = lengths.map((length, i) => slab.take(length).fill(i));
    assert.deepEqual(
      taken.map((floats) => [...floats]),
      lengths.map((length, i) => Array(length).fill(i)),
    );
    assert.equal(taken[0]!.buffer, taken[1]!.buffer);
  });

  test("the same memory is given out again when it is no longer needed", () => {
    const slab = new FloatSlab(10);
    const first = slab.take(10);
    slab.reset();
    const again = slab.take(4);
    assert.equal(again.buffer, first.buffer);
    assert.equal(again.byteOffset, first.byteOffset);
  });
});
