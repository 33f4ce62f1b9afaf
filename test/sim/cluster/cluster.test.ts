import assert from "node:assert/strict";
import { test } from "node:test";
import { weaknesses } from "./sabotage.ts";
import { runClusterSeed } from "./simulation.ts";

const seconds = 40;
/** Not every seed meets every weakness. */
const seedsMax = 60;

test("clusters keep what they acknowledge, once, and answer no stale read", async () => {
  let acknowledged = 0;
  let epochs = 0;
  for (let seed = 1; seed <= 8; seed++) {
    const { failure, counts } = await runClusterSeed({ seed, seconds });
    if (failure !== undefined) throw new Error(`seed ${seed}: ${failure.message}`, { cause: failure });
    acknowledged += counts.acknowledged;
    epochs += counts.epochs;
  }
  assert.ok(acknowledged > 500 && epochs > 30, `${acknowledged} acknowledged in ${epochs} epochs`);
});

test("a seed gives the same trace each time, and another seed another one", async () => {
  const [first, second, other] = [
    await runClusterSeed({ seed: 7, seconds }),
    await runClusterSeed({ seed: 7, seconds }),
    await runClusterSeed({ seed: 8, seconds }),
  ];
  assert.equal(first.failure, undefined);
  assert.equal(first.trace, second.trace);
  assert.deepEqual(first.counts, second.counts);
  assert.notEqual(first.trace, other.trace);
});

for (const { what, sabotage, found } of weaknesses) {
  test(`the checker finds out that ${what}`, async () => {
    for (let seed = 1; seed <= seedsMax; seed++) {
      const { failure } = await runClusterSeed({ seed, seconds, sabotage });
      if (failure === undefined) continue;
      assert.match(failure.message, found);
      return;
    }
    assert.fail(`none of ${seedsMax} seeds found it`);
  });
}
