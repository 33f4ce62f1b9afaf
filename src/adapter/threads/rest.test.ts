import assert from "node:assert/strict";
import { test } from "node:test";
import { Rest, restLimits } from "./rest.ts";

function workFor(ms: number, step: () => void): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; ) step();
}

test("long work rests again and again, short work never", () => {
  const rests: number[] = [];
  const rest = new Rest({ sleep: (ms) => rests.push(ms) });
  rest.ifDue();
  assert.deepEqual(rests, []);
  workFor(restLimits.workMs * 4, rest.ifDue);
  assert.ok(rests.length >= 1);
  assert.ok(rests.every((ms) => ms === restLimits.restMs));
});

test("it rests longer while short requests come", () => {
  const shortRequests = new Int32Array(new SharedArrayBuffer(4));
  const rests: number[] = [];
  const rest = new Rest({ shortRequests, sleep: (ms) => rests.push(ms) });
  const untilRested = () => {
    for (const before = rests.length; rests.length === before; ) rest.ifDue();
  };
  untilRested();
  shortRequests[0]!++;
  untilRested();
  untilRested();
  assert.deepEqual(rests, [restLimits.restMs, restLimits.longRestMs, restLimits.restMs]);
});

test("a rest ends by itself", () => {
  const rest = new Rest();
  workFor(restLimits.workMs * 3, rest.ifDue);
});
