import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../adapter/memory/store.ts";
import { SimulatedClock } from "../adapter/simulated/clock.ts";
import type { WriteOp } from "../port/store.ts";
import { Committer } from "./commit/committer.ts";
import { DedupIndex } from "./event/dedup/dedup-index.ts";
import { digestWordCount, entryWords, eventDigest, writeEntry } from "./event/dedup/entry.ts";
import { checkFormat, readFormat } from "./format.ts";
import { makeKey, tables } from "./keys.ts";
import { sealValue } from "./stored-value.ts";

const runs = 150;
const perRun = 3;

/** As version 3 has it: nine words for each event, one after another. */
function storedRun(first: number, nowMs: number): Buffer {
  const words = new Uint32Array(perRun * entryWords);
  const digest = new Uint32Array(digestWordCount);
  for (let i = 0; i < perRun; i++) {
    eventDigest(7, "/s", `${first + i}`, digest, 0);
    writeEntry(words, i * entryWords, digest, 0, nowMs, 5, first + i);
  }
  return sealValue(new Uint8Array(words.buffer));
}

test("events that version 3 remembered are remembered by version 5", async () => {
  const store = new MemoryStore();
  const clock = new SimulatedClock();
  const nowMs = clock.nowMs();
  await checkFormat(store, { version: 3 });
  const ops = Array.from({ length: runs }, (_, run): WriteOp => {
    return { kind: "put", key: makeKey(tables.dedupRun, 1, run), value: storedRun(run * perRun, nowMs) };
  });
  await store.commit(ops);
  await checkFormat(store, { version: 5 });
  assert.equal(readFormat(store)?.version, 5);
  const committer = new Committer({ store, clock, queueBytesMax: 1e9, groupBytesMax: 1e9 });
  const index = new DedupIndex({ store, committer, clock, windowMs: 60_000 });
  index.load();
  const digest = new Uint32Array(digestWordCount);
  const found = Array.from({ length: runs * perRun + 1 }, (_, i) => {
    eventDigest(7, "/s", `${i}`, digest, 0);
    return index.find(digest, 0, nowMs, 0, index.arrive(digest, 1, nowMs));
  });
  assert.equal(found.pop(), undefined);
  assert.deepEqual(
    found.map((known) => [known?.partition, known?.offset]),
    found.map((_, i) => [5, i]),
  );
});
