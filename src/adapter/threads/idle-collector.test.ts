import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { IdleCollector, idleLimits } from "./idle-collector.ts";

const { grownBytesMin, looksMin, lookMs, workMsMin } = idleLimits;
/** Looks at a busy thread after which it has worked long enough. */
const busyLooks = Math.ceil(workMsMin / lookMs);
const startBytes = 50_000_000;

function serving() {
  const state = { bytes: startBytes, share: 0, collections: 0 };
  const collector = new IdleCollector(
    () => {
      state.collections++;
      state.bytes = startBytes;
    },
    () => state.bytes,
    () => state.share,
  );
  const look = (times: number) => {
    for (let i = 0; i < times; i++) collector.look();
  };
  return { state, look };
}

describe("the garbage of the thread that serves", () => {
  test("is collected once after a burst of work, when there is nothing to do", () => {
    const { state, look } = serving();
    state.share = 1;
    state.bytes += grownBytesMin;
    look(busyLooks);
    assert.equal(state.collections, 0, "it works");
    state.share = 0;
    look(looksMin - 1);
    assert.equal(state.collections, 0, "it may be a short pause");
    look(1);
    assert.equal(state.collections, 1);
    look(looksMin * 3);
    assert.equal(state.collections, 1, "nothing has grown since");
  });

  test("is left where it is little, and where little was done", () => {
    const { state, look } = serving();
    state.bytes += grownBytesMin;
    look(looksMin * 3);
    assert.equal(state.collections, 0, "another thread's memory has grown");
    state.share = 1;
    look(busyLooks);
    state.share = 0;
    state.bytes -= 1;
    look(looksMin * 3);
    assert.equal(state.collections, 0);
  });

  test("is collected in a real process", async () => {
    const shares = [...Array<number>(busyLooks).fill(1), ...Array<number>(looksMin).fill(0)];
    const collector = new IdleCollector(undefined, undefined, () => shares.shift() ?? 0);
    let burst: unknown[] | undefined = Array.from({ length: 2_000_000 }, (_, i) => ({ i }));
    const last = new WeakRef(burst);
    // A weak reference holds on to its target until the end of the tick.
    await nextTick();
    assert.equal(burst.length, 2_000_000);
    burst = undefined;
    while (shares.length > 0) collector.look();
    assert.ok(last.deref() === undefined);
  });
});
