import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../port/clock.ts";
import { pauseMs, runInTurns, runWithPauses, type Steps, shortRequests } from "./turns.ts";

/** A clock by which every look takes a millisecond, so that each step uses its turn up. */
function slowClock(onSleep: (ms: number) => void): Clock {
  let nowMs = 0;
  return { nowMs: () => nowMs, steadyMs: () => nowMs++, sleep: async (ms) => onSleep(ms) };
}

function* steps(count: number, each: (i: number) => void): Steps<string> {
  for (let i = 0; i < count; i++) {
    each(i);
    yield;
  }
  return "done";
}

test("work that can wait pauses after a turn in which short requests came", async () => {
  const pauses: number[] = [];
  const clock = slowClock((ms) => pauses.push(ms));
  const done = await runWithPauses(
    steps(6, (i) => {
      if (i === 1 || i === 4) shortRequests.came();
    }),
    clock,
  );
  assert.equal(done, "done");
  assert.deepEqual(pauses, [pauseMs, pauseMs]);
});

test("other work never pauses", async () => {
  const clock = slowClock(() => assert.fail("it slept"));
  assert.equal(
    await runInTurns(
      steps(3, () => shortRequests.came()),
      clock,
    ),
    "done",
  );
});

test("what came before the work is no reason to pause", async () => {
  shortRequests.came();
  const clock = slowClock(() => assert.fail("it slept"));
  assert.equal(
    await runWithPauses(
      steps(3, () => undefined),
      clock,
    ),
    "done",
  );
});
