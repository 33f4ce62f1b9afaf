import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { floatsText } from "./float-text.ts";

test("the text gives the same floats again", () => {
  const floats = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0));
  fc.assert(
    fc.property(floats, (values) => {
      const given = Float32Array.from(values);
      assert.deepEqual(Float32Array.from(JSON.parse(floatsText(given)) as number[]), given);
    }),
    { numRuns: 1_000, seed: 6 },
  );
});

test("it has the digits that a person would write", () => {
  const values = [0.1, -0.25, 3, 0, 1e-7, 123456.78, 3.4028234663852886e38, 1e-45, 16777216];
  const text = floatsText(Float32Array.from(values));
  assert.equal(text, "[0.1,-0.25,3,0,1e-7,123456.78,3.40282347e+38,1.40129846e-45,16777216]");
});
