import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { CorePause, pauseLimits } from "./pause.ts";

/** Time that passes as told. */
function steps(t: TestContext) {
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  return (ms: number) => {
    nowMs += ms;
  };
}

test("long work pauses again and again, short work never", (t) => {
  const pass = steps(t);
  const pauses: number[] = [];
  const pause = new CorePause({ sleep: (ms) => pauses.push(ms) });
  const { workMs, pauseMs } = pauseLimits;
  pass(workMs / 2);
  pause.ifDue();
  assert.deepEqual(pauses, []);
  for (let i = 0; i < 8; i++) {
    pass(workMs / 2);
    pause.ifDue();
  }
  assert.deepEqual(pauses, Array(4).fill(pauseMs));
});

test("it pauses longer while short requests come", (t) => {
  const pass = steps(t);
  const shortRequests = new Int32Array(new SharedArrayBuffer(4));
  const pauses: number[] = [];
  const pause = new CorePause({ shortRequests, sleep: (ms) => pauses.push(ms) });
  const work = () => {
    pass(pauseLimits.workMs);
    pause.ifDue();
  };
  work();
  shortRequests[0]!++;
  work();
  work();
  assert.deepEqual(pauses, [pauseLimits.pauseMs, pauseLimits.longPauseMs, pauseLimits.pauseMs]);
});

test("a pause ends by itself", (t) => {
  const pass = steps(t);
  const pause = new CorePause();
  pass(pauseLimits.workMs);
  pause.ifDue();
});
