import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { floatsText } from "./float-text.ts";

test("the text gives the same floats again", () => {
  const anyFloat = fc.float({ noNaN: true, noDefaultInfinity: true });
  const everyday = fc.float({ noNaN: true, min: -1024, max: 1024 });
  const decimal = fc.tuple(fc.integer({ min: -999_999, max: 999_999 }), fc.nat(6)).map(([n, d]) => n / 10 ** d);
  const floats = fc.array(fc.oneof(anyFloat, everyday, decimal).map((value) => value + 0));
  fc.assert(
    fc.property(floats, (values) => {
      const given = Float32Array.from(values);
      assert.deepEqual(Float32Array.from(JSON.parse(floatsText(given)) as number[]), given);
    }),
    { numRuns: 3_000, seed: 6 },
  );
});

test("it has the digits that a person would write", () => {
  const values = [0.1, -0.25, 3, 0, -0, 1e-7, 123456.78, 10.5, 0.001, 99.99, 3.4028234663852886e38, 1e-45, 16777216];
  const text = floatsText(Float32Array.from(values));
  assert.equal(text, "[0.1,-0.25,3,0,0,1e-7,123456.78,10.5,0.001,99.99,3.40282347e+38,1.401298e-45,16777216]");
  assert.equal(floatsText(new Float32Array(0)), "[]");
});
