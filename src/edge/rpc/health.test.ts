import assert from "node:assert/strict";
import { test } from "node:test";
import { HealthState } from "./health-state.ts";
import { rpcLimits } from "./limits.ts";

test("watchers of health are bounded, and one that leaves makes room", async () => {
  const state = new HealthState();
  const watchers = Array.from({ length: rpcLimits.healthWatchersMax }, () => {
    const leave = new AbortController();
    return { leave, stream: state.watch("", leave.signal) };
  });
  for (const { stream } of watchers) await stream.next();
  const { signal } = new AbortController();
  await assert.rejects(state.watch("", signal).next(), { reason: "resource_exhausted", retryAfterMs: 1000 });
  watchers[0]!.leave.abort();
  await watchers[0]!.stream.next();
  assert.equal((await state.watch("", signal).next()).done, false);
});
