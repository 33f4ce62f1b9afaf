import assert from "node:assert/strict";
import { test } from "node:test";
import { type GroundSabotage, runDataSeed } from "./data.ts";

/** Not every seed meets every weakness. */
const seedsMax = 120;

test("all kinds of data hold what they promise while owners change, and standbys answer what a token asks for", async () => {
  const sums = { epochs: 0, followed: 0 };
  for (let seed = 1; seed <= 5; seed++) {
    const { failure, epochs, followed } = await runDataSeed(seed);
    if (failure !== undefined) throw new Error(`seed ${seed} failed`, { cause: failure.error });
    sums.epochs += epochs;
    sums.followed += followed;
  }
  assert.ok(sums.epochs > 12 && sums.followed > 60, JSON.stringify(sums));
});

test("a seed gives the same trace each time, and another seed another one", async () => {
  const [first, second, other] = [await runDataSeed(7), await runDataSeed(7), await runDataSeed(8)];
  assert.equal(first.failure, undefined);
  assert.equal(first.trace, second.trace);
  assert.notEqual(first.trace, other.trace);
});

/** The first seed is one that has found it. */
const weaknesses: readonly { what: string; first: number; make: () => GroundSabotage }[] = [
  { what: "an owner answers after its lease", first: 1, make: () => ({ ignoresLease: true }) },
  {
    what: "a standby's engine is not told of a commit",
    first: 12,
    make: () => {
      let count = 0;
      return { keepsQuiet: () => ++count % 7 === 0 };
    },
  },
];

for (const { what, first, make } of weaknesses) {
  test(`the checker finds out that ${what}`, async () => {
    for (let seed = first; seed < first + seedsMax; seed++) {
      const { failure } = await runDataSeed(seed, make());
      if (failure === undefined) continue;
      assert.match((failure.error as Error).message, /was known|no state|instead of|, not \[/);
      return;
    }
    assert.fail(`none of ${seedsMax} seeds found it`);
  });
}
