import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestRate } from "./request-rate.ts";

test("a second's worth may come at once, then requests come at the rate", () => {
  const rate = new RequestRate(4, 1_000);
  assert.deepEqual(
    [0, 0, 0, 0].map(() => rate.take(1_000)),
    [0, 0, 0, 0],
  );
  assert.equal(rate.take(1_000), 250);
  assert.equal(rate.take(1_100), 150);
  assert.equal(rate.take(1_250), 0);
  assert.equal(rate.take(1_250), 250);
});

test("time in which nothing comes fills no more than a second's worth", () => {
  const rate = new RequestRate(2, 0);
  assert.deepEqual(
    [0, 1, 2].map(() => rate.take(60_000)),
    [0, 0, 500],
  );
});
