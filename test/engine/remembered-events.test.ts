import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { SimulatedClock } from "../../src/adapter/simulated/clock.ts";
import { prefixRange, tables } from "../../src/engine/keys.ts";
import { limits } from "../../src/engine/limits.ts";
import { nextTurn } from "../../src/port/next-turn.ts";
import { startMemoryEngine } from "../support/memory-engine.ts";

const perBatch = 1_000;

test("a full table of events becomes a segment at once, not with the next round of maintenance", async () => {
  const store = new MemoryStore();
  const engine = await startMemoryEngine({}, store, new SimulatedClock());
  await engine.metastore.createNamespace("a");
  await engine.streams.create({ namespace: "a", stream: "s" }, 1, undefined);
  const append = async (first: number) => {
    const events = Array.from({ length: perBatch }, (_, i) => ({
      specversion: "1.0",
      id: `${first + i}`,
      source: "/s",
      type: "t",
    }));
    const text = Buffer.from(JSON.stringify(events));
    return engine.events.appendJson({ namespace: "a", stream: "s", text, isBatch: true, allocate: Buffer.allocUnsafe });
  };
  for (let first = 0; first <= limits.dedupSegmentKeysMax + perBatch; first += perBatch) await append(first);
  const segments = () => [...store.keys(prefixRange(tables.dedupSegment))].length;
  // Time stands still.
  for (let turns = 0; segments() === 0; turns++) {
    assert.ok(turns < 10_000, "the table is sealed");
    await nextTurn();
  }
  const again = (await append(0))!.events;
  assert.deepEqual(again[7], { status: "duplicate", partition: 0, offset: 7 });
  assert.ok(again.every(({ status }, offset) => status === "duplicate" && again[offset]!.offset === offset));
  await engine.stop();
});
