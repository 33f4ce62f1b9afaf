import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { IdleCollector, idleLimits } from "./idle-collector.ts";

const { grownBytesMin, looksMin } = idleLimits;
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
    state.share = 0.9;
    state.bytes += grownBytesMin;
    look(looksMin * 3);
    assert.equal(state.collections, 0, "it works");
    state.share = 0;
    look(looksMin - 1);
    assert.equal(state.collections, 0, "it may be a short pause");
    look(1);
    assert.equal(state.collections, 1);
    look(looksMin * 3);
    assert.equal(state.collections, 1, "nothing has grown since");
  });

  test("is left where it is little", () => {
    const { state, look } = serving();
    state.bytes += grownBytesMin - 1;
    look(looksMin * 3);
    assert.equal(state.collections, 0);
  });

  test("is measured from the least that the heap took", () => {
    const { state, look } = serving();
    state.bytes -= 10_000_000;
    look(1);
    state.bytes += grownBytesMin;
    look(looksMin);
    assert.equal(state.collections, 1);
  });

  test("is found and collected in a real heap", () => {
    const collector = new IdleCollector(undefined, undefined, () => 0);
    let made: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, i) => ({ i }));
    const { heapTotal } = process.memoryUsage();
    assert.equal(made.length, 1_000_000);
    made = undefined;
    for (let i = 0; i < looksMin; i++) collector.look();
    assert.ok(process.memoryUsage().heapTotal < heapTotal - grownBytesMin / 2);
  });
});
