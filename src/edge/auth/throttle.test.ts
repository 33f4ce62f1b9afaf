import assert from "node:assert/strict";
import test from "node:test";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { addressGroup } from "./address.ts";
import { Throttle, throttleLimits } from "./throttle.ts";

/** Fails `count` times and returns the delays of the answers, in milliseconds. */
async function delays(throttle: Throttle, clock: SimulatedClock, address: string, count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let n = 0; n < count; n++) {
    const startMs = clock.nowMs();
    const answer = throttle.failed(address);
    let waited = 0;
    while (clock.sleeping > 0) {
      clock.advance(50);
      waited = clock.nowMs() - startMs;
    }
    await answer;
    seen.push(waited);
  }
  return seen;
}

test("the first 20 failures of a minute are answered at once, later ones ever more slowly", async () => {
  const clock = new SimulatedClock(Date.now());
  const throttle = new Throttle(clock);
  const seen = await delays(throttle, clock, "192.0.2.1", 28);
  assert.deepEqual(seen.slice(0, 20), new Array(20).fill(0));
  assert.deepEqual(seen.slice(20), [100, 200, 400, 800, 1600, 2000, 2000, 2000]);
  assert.deepEqual(await delays(throttle, clock, "192.0.2.2", 1), [0], "another address is not affected");
  clock.advance(throttleLimits.windowMs);
  assert.deepEqual(await delays(throttle, clock, "192.0.2.1", 1), [0], "a new minute starts afresh");
});

test("answers held back are bounded", async () => {
  const clock = new SimulatedClock(Date.now());
  const throttle = new Throttle(clock);
  await delays(throttle, clock, "192.0.2.1", 20);
  const held = Array.from({ length: throttleLimits.delayedAnswersMax }, () => throttle.failed("192.0.2.1"));
  assert.equal(throttle.delayed, throttleLimits.delayedAnswersMax);
  await throttle.failed("192.0.2.1");
  clock.advance(throttleLimits.delayMsMax);
  await Promise.all(held);
  assert.equal(throttle.delayed, 0);
});

test("a caller that goes, or a server that stops, ends the wait", async () => {
  const clock = new SimulatedClock(Date.now());
  const throttle = new Throttle(clock);
  await delays(throttle, clock, "192.0.2.1", 20);
  const gone = new AbortController();
  const first = throttle.failed("192.0.2.1", gone.signal);
  const second = throttle.failed("192.0.2.1");
  assert.equal(throttle.delayed, 2);
  gone.abort();
  await first;
  assert.equal(throttle.delayed, 1);
  throttle.close();
  await second;
  assert.equal(throttle.delayed, 0);
});

test("addresses that are tracked are bounded: the oldest is forgotten first", async () => {
  const clock = new SimulatedClock(Date.now());
  const throttle = new Throttle(clock);
  await delays(throttle, clock, "192.0.2.1", 20);
  for (let n = 0; n < throttleLimits.addressesMax; n++) await throttle.failed(`10.0.${n >> 8}.${n & 255}`);
  assert.deepEqual(await delays(throttle, clock, "192.0.2.1", 1), [0]);
});

const groups = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:DB8:0001:2::9", "2001:db8:1:2"],
  ["2001:db8::9", "2001:db8:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
  ["", ""],
] as const;

for (const [address, group] of groups) {
  test(`failures of ${address} count for ${group}`, () => assert.equal(addressGroup(address), group));
}
