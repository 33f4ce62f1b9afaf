import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { SimulatedClock } from "../../src/adapter/simulated/clock.ts";
import { tables } from "../../src/engine/keys.ts";
import type { WriteOp } from "../../src/port/store.ts";
import { startMemoryEngine } from "../support/memory-engine.ts";

/** A store whose commits of counters wait until they are let go. */
class HeldCounters extends MemoryStore {
  readonly release = Promise.withResolvers<void>();
  isHolding = false;

  override async commit(ops: readonly WriteOp[]): Promise<void> {
    if (ops.some(({ key }) => key[0] === tables.counter)) {
      this.isHolding = true;
      await this.release.promise;
    }
    await super.commit(ops);
  }
}

test("a link counts a record once, although it was not told the outcome of its commit", async () => {
  const clock = new SimulatedClock();
  const store = new HeldCounters();
  const engine = await startMemoryEngine({}, store, clock);
  const turn = async (ms: number) => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  await engine.metastore.createNamespace("n");
  await engine.streams.create({ namespace: "n", stream: "s" }, 1, undefined);
  await engine.links.create({
    ...{ namespace: "n", name: "l", source: "s", target: { kind: "counter", name: "t" } },
    options: { amount: { json: "/n" } },
  });
  const records = [1, 2, 3].map((n) => ({ key: Buffer.from("k"), value: Buffer.from(JSON.stringify({ n })) }));
  await engine.streams.append({ namespace: "n", stream: "s", partition: 0, records });
  /** Time goes on while it waits. */
  const shown = async () => {
    let isOver = false;
    const detail = engine.links.detail("n", "l", { token: [], consistency: "eventual" });
    void detail.finally(() => {
      isOver = true;
    });
    while (!isOver) await turn(100);
    return detail;
  };
  while (!store.isHolding) await turn(0);
  while ((await shown()).error === undefined) await turn(1_000);
  assert.match((await shown()).error!, /disk does not answer/);
  store.release.resolve();
  let detail = await shown();
  while (detail.error !== undefined || detail.applied?.[0]?.offset !== 3) {
    await turn(100);
    detail = await shown();
  }
  // Whatever it would do once more it does now.
  for (let i = 0; i < 100; i++) await turn(100);
  assert.deepEqual((await shown()).fields[1], '"counters":{"k":6}');
  await engine.stop();
});
