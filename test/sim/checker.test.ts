import assert from "node:assert/strict";
import { test } from "node:test";
import { weaknesses } from "./sabotage.ts";
import { runSeed } from "./simulation.ts";

const steps = 240;
/** Not every seed meets every weakness. */
const seedsMax = 40;

for (const { what, make, found } of weaknesses) {
  test(`the checker finds out that ${what}`, async () => {
    for (let seed = 1; seed <= seedsMax; seed++) {
      const { failure } = await runSeed({ seed, steps, sabotage: make() });
      if (failure === undefined) continue;
      const { message } = failure.error as Error;
      if (found.test(message)) return;
      // It can show in other ways too, but never as a mistake of the simulation.
      assert.doesNotMatch(message, /is not a function|Cannot read properties|undefined is not/);
    }
    assert.fail(`none of ${seedsMax} seeds found it`);
  });
}

test("a seed gives the same trace each time, and another seed another one", async () => {
  const [first, second, other] = [
    await runSeed({ seed: 7, steps }),
    await runSeed({ seed: 7, steps }),
    await runSeed({ seed: 8, steps }),
  ];
  assert.equal(first.failure, undefined);
  assert.equal(first.trace, second.trace);
  assert.deepEqual(first.faults, second.faults);
  assert.notEqual(first.trace, other.trace);
});
