import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Outbox, outboxLimits } from "./outbox.ts";

/** An outbox that takes numbers and refuses negative ones, as a port refuses what can't be copied. */
function numbered() {
  const sent: number[][] = [];
  const refused: number[] = [];
  const outbox = new Outbox<number>(
    (messages) => {
      if (messages.some((message) => message < 0)) throw new Error("can't be copied");
      sent.push(messages);
    },
    (message) => refused.push(message),
  );
  return { outbox, sent, refused };
}

test("what is given in one turn goes in order, in one piece or several, and all before the next turn", async () => {
  const { outbox, sent } = numbered();
  for (let i = 0; i < 3; i++) outbox.push(i);
  await setImmediate();
  outbox.push(3);
  await setImmediate();
  assert.deepEqual(sent.flat(), [0, 1, 2, 3]);
  assert.deepEqual(sent.at(-1), [3]);
});

test("fewer than the limit wait, however many are given in one turn", () => {
  const { outbox, sent } = numbered();
  for (let given = 1; given <= 100; given++) {
    outbox.push(given);
    assert.ok(given - sent.flat().length < outboxLimits.messagesMax);
  }
});

test("what can't be sent keeps nothing else back", async () => {
  const { outbox, sent, refused } = numbered();
  for (const message of [1, -2, 3]) outbox.push(message);
  await setImmediate();
  assert.deepEqual(sent.flat(), [1, 3]);
  assert.deepEqual(refused, [-2]);
});

test("what was dropped is not sent", async () => {
  const { outbox, sent } = numbered();
  outbox.push(1);
  outbox.clear();
  outbox.push(2);
  await setImmediate();
  assert.deepEqual(sent, [[2]]);
});
