import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { SimulatedClock } from "../../src/adapter/simulated/clock.ts";
import type { Clock } from "../../src/port/clock.ts";

interface Driven {
  readonly clock: Clock;
  /** Lets time pass where it does not by itself. */
  readonly pass: (ms: number) => void;
}

const adapters: Readonly<Record<string, () => Driven>> = {
  node: () => ({ clock: new NodeClock(), pass: () => {} }),
  simulated: () => {
    const clock = new SimulatedClock();
    return { clock, pass: (ms) => clock.advance(ms) };
  },
};

for (const [name, open] of Object.entries(adapters)) {
  describe(`clock on ${name}`, () => {
    test("the wall clock is in whole epoch milliseconds", () => {
      const { clock } = open();
      assert.ok(Number.isSafeInteger(clock.nowMs()));
      assert.ok(clock.nowMs() > Date.UTC(2020, 0));
    });

    test("a sleep ends after its time, and not before on the steady clock", async () => {
      const { clock, pass } = open();
      const started = clock.steadyMs();
      const slept = clock.sleep(30);
      pass(30);
      await slept;
      // Timers count in whole milliseconds.
      assert.ok(clock.steadyMs() - started >= 29);
    });

    test("sleeps end in the order of their times", async () => {
      const { clock, pass } = open();
      const woken: number[] = [];
      const sleeps = [60, 5, 30].map((ms) => clock.sleep(ms).then(() => woken.push(ms)));
      pass(60);
      await Promise.all(sleeps);
      assert.deepEqual(woken, [5, 30, 60]);
    });

    test("no time is no sleep", async () => {
      const { clock, pass } = open();
      const slept = clock.sleep(0);
      pass(0);
      await slept;
    });

    test("a signal ends a sleep without an error, before or during it", { timeout: 5_000 }, async () => {
      const { clock } = open();
      await clock.sleep(3_600_000, AbortSignal.abort());
      const controller = new AbortController();
      const slept = clock.sleep(3_600_000, controller.signal);
      controller.abort();
      await slept;
    });

    test("many sleeps on one signal all end with it", { timeout: 5_000 }, async () => {
      const { clock } = open();
      const controller = new AbortController();
      const sleeps = Array.from({ length: 1_000 }, () => clock.sleep(3_600_000, controller.signal));
      controller.abort();
      await Promise.all(sleeps);
    });
  });
}

test("simulated: nobody wakes before time is told to pass far enough", async () => {
  const clock = new SimulatedClock(1_000);
  let woken = false;
  const slept = clock.sleep(10).then(() => {
    woken = true;
  });
  clock.advance(9);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(woken, false);
  clock.advance(1);
  await slept;
  assert.deepEqual([clock.nowMs(), clock.steadyMs()], [1_010, 10]);
});
