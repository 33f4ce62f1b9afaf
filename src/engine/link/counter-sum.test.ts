import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CounterSum, int64Max, int64Min, saturate } from "./counter-sum.ts";

const small = fc.integer({ min: -1000, max: 1000 });
const safe = fc.maxSafeInteger();
const large = fc.bigInt({ min: int64Min, max: int64Max });
const counter = fc.oneof(
  large,
  fc.bigInt({ min: int64Max - 5000n, max: int64Max }),
  fc.bigInt({ min: int64Min, max: int64Min + 5000n }),
  fc.constant(0n),
);

test("amounts collected together do what they do one by one, at the ends of int64 too", () => {
  fc.assert(
    fc.property(counter, fc.array(fc.oneof(small, safe, large), { maxLength: 30 }), (start, amounts) => {
      const sum = new CounterSum();
      let want = start;
      for (const amount of amounts) {
        sum.add(amount);
        want = saturate(want + BigInt(amount));
      }
      assert.equal(sum.applyTo(start), want);
    }),
  );
});

test("several steps make one", () => {
  fc.assert(
    fc.property(counter, fc.array(large, { maxLength: 20 }), fc.nat(20), (start, amounts, cut) => {
      const whole = new CounterSum();
      const first = new CounterSum();
      const second = new CounterSum();
      for (const [i, amount] of amounts.entries()) {
        whole.add(amount);
        (i < cut ? first : second).add(amount);
      }
      assert.equal(whole.applyTo(start), second.applyTo(first.applyTo(start)));
    }),
  );
});
