import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcessorTime } from "./processor-time.ts";

test("works that run at once share the process's time, one that is alone has all of it", () => {
  let processMs = 1_000;
  const time = new ProcessorTime(() => processMs);
  const first = time.begin();
  processMs += 100;
  assert.equal(first.usedMs(), 100);
  const second = time.begin();
  processMs += 100;
  assert.deepEqual([first.usedMs(), second.usedMs()], [100, 50]);
  first.end();
  second.end();
  const third = time.begin();
  processMs += 30;
  assert.equal(third.usedMs(), 30);
});
