import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Driver } from "./collection/driver.ts";
import { type Adapters, EngineHarness } from "./collection/harness.ts";
import { filter, schema, steps } from "./collection/steps.ts";

/**
 * Proves: after any writes, seals, merges, restarts, added fields and drops, in any order, every read says what a plain
 * map with the same operations says: documents, counts, filters and pages.
 */
function agrees(adapters: Adapters) {
  return fc.asyncProperty(
    schema,
    steps,
    fc.array(filter, { minLength: 2, maxLength: 4 }),
    async (given, run, filters) => {
      await using harness = await EngineHarness.start(adapters);
      const driver = new Driver(harness, given);
      await driver.create();
      for (const step of run) {
        await driver.run(step);
        // The check would give background work the time to end before the next step.
        if (step.kind !== "stir") await driver.check(filters);
      }
      await driver.run({ kind: "seal" });
      await driver.check(filters);
      assert.deepEqual(harness.errors, []);
    },
  );
}

test("a collection agrees with a plain map, in memory", () => {
  return fc.assert(agrees("memory"), { numRuns: 80, seed: 11, interruptAfterTimeLimit: 15_000 });
});

test("a collection agrees with a plain map, on disk and with real threads", () => {
  return fc.assert(agrees("disk"), { numRuns: 3, seed: 12 });
});
