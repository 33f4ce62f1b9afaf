import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { SeededRandom } from "../../adapter/simulated/random.ts";
import type { Snapshot } from "../../port/store.ts";
import { Pins, pinLimits } from "./pins.ts";

test("snapshots that hold much memory go, the least recently used first, but not while they are used", async () => {
  const held = new Set<string>();
  const pins = new Pins(new SimulatedClock(), new SeededRandom(1), () => (held.size * pinLimits.heldBytesMax) / 2);
  const add = (name: string) => {
    held.add(name);
    const snapshot = { [Symbol.dispose]: () => void held.delete(name) } as unknown as Snapshot;
    return pins.add(1, { snapshot, matches: undefined, token: [] })!;
  };
  const a = add("a");
  add("b");
  assert.deepEqual([...held], ["a", "b"]);
  await pins.use(a, 1, async () => {
    add("c");
    assert.deepEqual([...held], ["a", "c"]);
  });
  add("d");
  assert.deepEqual([...held], ["c", "d"]);
});
