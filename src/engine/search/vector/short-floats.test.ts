import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { shortFloats } from "./short-floats.ts";

const plain = [0, 1, -1, 0.1, 0.2, -0.3, 1e-7, 123.456, -0.001, 1e30, 16_777_216, 0.000_123];

test("numbers are shown as they were written", () => {
  assert.deepEqual(shortFloats(Float32Array.from(plain)), plain);
});

test("every number of single precision is itself again", () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const [short] = shortFloats([value]);
      assert.equal(Math.fround(short!) === value, true, `${value} became ${short}`);
    }),
  );
});
