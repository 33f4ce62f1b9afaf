import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeClock } from "../../../adapter/node/clock.ts";
import type { QueryOutcome } from "../../retrieval/outcome.ts";
import type { Steps } from "../../turns.ts";
import { QueryRunner } from "./query-runner.ts";

const outcome: QueryOutcome = {
  hits: [],
  facets: [],
  stats: {
    retrieved: [],
    candidates: 0,
    timesMs: { statistics: 0, filters: 0, retrievers: [], ranking: 0, facets: 0, explain: 0 },
  },
};

/** A query that takes steps until it is told to end. */
function* endless(isOver: () => boolean): Steps<QueryOutcome> {
  while (!isOver()) yield;
  return outcome;
}

test("a long query lets others run, and ends when it is cancelled", async () => {
  const runner = new QueryRunner(new NodeClock());
  const long = runner.run(
    1,
    endless(() => false),
  );
  assert.equal(
    await runner.run(
      2,
      endless(() => true),
    ),
    outcome,
  );
  runner.cancel(2);
  runner.cancel(1);
  await assert.rejects(long, { reason: "deadline_exceeded" });
});

test("a query that is cancelled before its turn is told so when it arrives, once", () => {
  const runner = new QueryRunner(new NodeClock());
  runner.expect(1);
  runner.expect(2);
  runner.cancel(1);
  runner.cancel(3);
  assert.deepEqual([runner.arrive(1), runner.arrive(2), runner.arrive(3)], [true, false, false]);
  assert.equal(runner.arrive(1), false);
});
