import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { GarbageCollector, garbageLimits } from "./garbage.ts";

const { idleBytesMin, busyBytesMin } = garbageLimits;

/** Memory that grows as told, and of which a collection leaves what is kept. */
function collector(kept: { bytes: number }) {
  const state = { held: kept.bytes, collections: 0, thorough: 0 };
  const garbage = new GarbageCollector(
    (thoroughly) => {
      state.collections++;
      if (thoroughly) state.thorough++;
      state.held = kept.bytes;
    },
    () => state.held,
  );
  return { state, garbage };
}

describe("the garbage of threads", () => {
  test("much of it is collected as soon as nothing is in hand", () => {
    const { state, garbage } = collector({ bytes: 0 });
    garbage.begin();
    garbage.begin();
    state.held = busyBytesMin;
    garbage.done();
    assert.equal(state.collections, 0, "another message is in hand");
    garbage.done();
    assert.equal(state.collections, 1);
  });

  test("less of it is collected once the thread is idle, and nothing where there is little", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { state, garbage } = collector({ bytes: 0 });
    for (const [bytes, wanted] of [
      [idleBytesMin - 1, 0],
      [idleBytesMin, 1],
    ] as const) {
      state.held = bytes;
      garbage.begin();
      garbage.done();
      t.mock.timers.tick(garbageLimits.idleMs);
      assert.equal(state.collections, wanted);
    }
  });

  test("a message ends the idleness", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { state, garbage } = collector({ bytes: 0 });
    state.held = idleBytesMin;
    garbage.begin();
    garbage.done();
    garbage.begin();
    t.mock.timers.tick(garbageLimits.idleMs);
    assert.equal(state.collections, 0);
  });

  test("what is kept is not taken for garbage again", () => {
    const kept = { bytes: 0 };
    const { state, garbage } = collector(kept);
    kept.bytes = busyBytesMin * 2;
    state.held = busyBytesMin * 3;
    for (let i = 0; i < 3; i++) {
      garbage.begin();
      garbage.done();
    }
    assert.equal(state.collections, 1);
  });

  test("what was kept until now and let go of is collected once the thread is idle, however little more there is", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { state, garbage } = collector({ bytes: idleBytesMin * 4 });
    for (const wanted of [1, 1]) {
      garbage.begin();
      if (state.collections === 0) garbage.leftBehind();
      garbage.done();
      t.mock.timers.tick(garbageLimits.idleMs);
      assert.equal(state.collections, wanted);
    }
  });

  test("what is let go of again and again is not collected each time", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { state, garbage } = collector({ bytes: 0 });
    for (let i = 0; i < 3; i++) {
      garbage.begin();
      garbage.leftBehind();
      garbage.done();
      t.mock.timers.tick(garbageLimits.idleMs);
    }
    assert.equal(state.collections, 1);
  });

  test("after that it is cleaned thoroughly, once, when the thread has rested", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { state, garbage } = collector({ bytes: 0 });
    const message = () => {
      garbage.begin();
      garbage.done();
    };
    garbage.leftBehind();
    for (let i = 0; i < 3; i++) {
      message();
      t.mock.timers.tick(garbageLimits.idleMs);
      t.mock.timers.tick(garbageLimits.quietMs - garbageLimits.idleMs - 1);
    }
    assert.deepEqual([state.collections, state.thorough], [1, 0], "a message came before it had rested");
    t.mock.timers.tick(1);
    assert.deepEqual([state.collections, state.thorough], [2, 1]);
    message();
    t.mock.timers.tick(garbageLimits.idleMs);
    t.mock.timers.tick(garbageLimits.quietMs);
    assert.equal(state.thorough, 1);
  });

  test("buffers that nobody holds go", async () => {
    const garbage = new GarbageCollector();
    const buffer = new WeakRef(new Float64Array(busyBytesMin / 4).fill(1).buffer);
    // A weak reference holds on to its target until the end of the tick.
    await nextTick();
    garbage.collectIfAbove(busyBytesMin);
    assert.ok(buffer.deref() === undefined);
  });
});
