import assert from "node:assert/strict";
import { test } from "node:test";
import { CorePause, pauseLimits } from "./pause.ts";

function workFor(ms: number, step: () => void): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; ) step();
}

test("long work pauses again and again, short work never", () => {
  const pauses: number[] = [];
  const pause = new CorePause({ sleep: (ms) => pauses.push(ms) });
  pause.ifDue();
  assert.deepEqual(pauses, []);
  workFor(pauseLimits.workMs * 4, pause.ifDue);
  assert.ok(pauses.length >= 1);
  assert.ok(pauses.every((ms) => ms === pauseLimits.pauseMs));
});

test("it pauses longer while short requests come", () => {
  const shortRequests = new Int32Array(new SharedArrayBuffer(4));
  const pauses: number[] = [];
  const pause = new CorePause({ shortRequests, sleep: (ms) => pauses.push(ms) });
  const untilRested = () => {
    for (const before = pauses.length; pauses.length === before; ) pause.ifDue();
  };
  untilRested();
  shortRequests[0]!++;
  untilRested();
  untilRested();
  assert.deepEqual(pauses, [pauseLimits.pauseMs, pauseLimits.longPauseMs, pauseLimits.pauseMs]);
});

test("a pause ends by itself", () => {
  const pause = new CorePause();
  workFor(pauseLimits.workMs * 3, pause.ifDue);
});
