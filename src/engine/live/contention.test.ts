import assert from "node:assert/strict";
import { test } from "node:test";
import { devLoopback } from "../auth/principal.ts";
import { Contention } from "./contention.ts";

const call = (n: number) => ({ function: "f:add", args: { n }, principal: devLoopback });

test("calls that have conflicted wait for each other in their order, others do not", async () => {
  const contention = new Contention();
  assert.ok(!(contention.enter(call(1)) instanceof Promise), "nobody has conflicted yet");
  contention.note(call(1), "document");
  contention.note(call(2), "document");
  const leave = await contention.enter(call(1));
  const order: number[] = [];
  const waiting = [2, 1].map(async (n, at) => {
    const next = await contention.enter(call(n));
    order.push(at);
    next();
    next();
  });
  const other = contention.enter(call(3));
  assert.ok(!(other instanceof Promise), "another call goes on");
  await new Promise(setImmediate);
  assert.deepEqual(order, []);
  leave();
  await Promise.all(waiting);
  assert.deepEqual(order, [0, 1]);
  assert.ok(!(contention.enter(call(1)) instanceof Promise), "an empty line is forgotten");
});

test("a call that conflicts over something else changes its line", async () => {
  const contention = new Contention();
  contention.note(call(1), "a");
  contention.note(call(2), "b");
  const leaveA = await contention.enter(call(1));
  const leaveB = await contention.enter(call(2));
  contention.note(call(1), "b");
  leaveA();
  const moved = contention.enter(call(1));
  assert.ok(moved instanceof Promise, "it waits behind the one in b");
  leaveB();
  (await moved)();
});
