import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { Committer } from "../commit/committer.ts";
import { Log, type LogStream } from "./log.ts";
import { encodeBatch } from "./record-batch.ts";

function open() {
  const store = new MemoryStore();
  const clock = new SimulatedClock(0);
  const committer = new Committer({ store, clock, queueBytesMax: 1_000_000, groupBytesMax: 1_000_000 });
  return { log: new Log(store, clock), committer };
}

const stream: LogStream = { id: 7, partitions: 2, retention: undefined };

test("who still asks for a dropped stream leaves nothing of it in memory, and does not wait", async () => {
  const { log, committer } = open();
  for (const partition of [0, 1]) {
    await committer.submit((draft) => log.stageAppend(draft, stream, partition, encodeBatch([{}], 0)));
  }
  assert.equal([...log.loadedPartitions()].length, 2);
  const waiting = log.waitAbove(stream, 0, 1, 60_000, undefined);
  log.forget(stream);
  assert.equal(await waiting, false);
  assert.equal(log.highWatermark(stream, 0), 1);
  assert.equal(log.startOffset(stream, 1), 0);
  assert.equal(await log.waitAbove(stream, 0, 1, 60_000, undefined), false);
  assert.deepEqual([...log.loadedPartitions()], []);
});
