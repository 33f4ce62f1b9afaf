import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../adapter/memory/store.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { SimulatedClock } from "../adapter/simulated/clock.ts";
import type { WriteOp } from "../port/store.ts";
import { Committer } from "./commit/committer.ts";
import { DedupIndex } from "./event/dedup/dedup-index.ts";
import { digestWordCount, entryWords, writeEntry } from "./event/dedup/entry.ts";
import { olderDigests, olderTables } from "./event/dedup/older-events.ts";
import { doWork } from "./event/dedup/segment-work.ts";
import { checkFormat, formatVersion, readFormat } from "./format.ts";
import { makeKey, prefixRange, tables } from "./keys.ts";
import { sealValue } from "./stored-value.ts";

const runs = 150;
const perRun = 3;

function eventsFrom(first: number, count: number): { source: string; id: string }[] {
  return Array.from({ length: count }, (_, i) => ({ source: "/s", id: `${first + i}` }));
}

/** As version 3 has it: nine words for each event, one after another. */
function storedRun(first: number, nowMs: number): Buffer {
  const words = new Uint32Array(perRun * entryWords);
  const digests = olderDigests(7, eventsFrom(first, perRun));
  for (let i = 0; i < perRun; i++) {
    writeEntry(words, i * entryWords, digests, i * digestWordCount, nowMs, 5, first + i);
  }
  return sealValue(new Uint8Array(words.buffer));
}

test("events that version 3 remembered are still remembered", async () => {
  const store = new MemoryStore();
  const clock = new SimulatedClock();
  const nowMs = clock.nowMs();
  await checkFormat(store, { version: 3 });
  const ops = Array.from({ length: runs }, (_, run): WriteOp => {
    return { kind: "put", key: makeKey(tables.olderDedupRun, 1, run), value: storedRun(run * perRun, nowMs) };
  });
  await store.commit(ops);
  await checkFormat(store);
  assert.equal(readFormat(store)?.version, formatVersion);
  const committer = new Committer({ store, clock, queueBytesMax: 1e9, groupBytesMax: 1e9 });
  const windowMs = 60_000;
  const index = new DedupIndex({
    store,
    committer,
    clock,
    random: new NodeRandom(),
    windowMs,
    doWork: async (work) => doWork(work),
  });
  await index.open();
  const count = runs * perRun + 1;
  const digests = new Uint32Array(count * digestWordCount);
  const found = () => index.arrive(digests, count, clock.nowMs(), olderDigests(7, eventsFrom(0, count))).sealed;
  assert(index.needsOlderDigests);
  assert.deepEqual(
    [...(found() ?? [])],
    Array.from({ length: count - 1 }, (_, i) => [i, { partition: 5, offset: i }]),
  );
  clock.advance(windowMs);
  assert.equal(found(), undefined, "forgotten with the window");
  await index.maintain(new AbortController().signal);
  assert(!index.needsOlderDigests);
  for (const table of olderTables) assert.deepEqual([...store.keys(prefixRange(table))], []);
});
