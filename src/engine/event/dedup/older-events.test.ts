import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../../adapter/memory/store.ts";
import { makeKey, tables } from "../../keys.ts";
import { sealValue } from "../../stored-value.ts";
import { digestWordCount } from "./entry.ts";
import { EntryTable } from "./entry-table.ts";
import { OlderEvents, olderDigests } from "./older-events.ts";
import { runBytesMax, sealRun } from "./run.ts";
import { DedupSegment } from "./segment.ts";
import { doWork, newWork, pagesOf } from "./segment-work.ts";

const perSegment = 500;

function eventsFrom(first: number, count: number): { source: string; id: string }[] {
  return Array.from({ length: count }, (_, i) => ({ source: "/s", id: `${first + i}` }));
}

function tableOf(seq: number): EntryTable {
  const table = new EntryTable();
  const digests = olderDigests(7, eventsFrom(seq * perSegment, perSegment));
  table.addRun(digests, perSegment, 0, 1_000 * seq, 3, seq * perSegment);
  return table;
}

/** As builds before format 8 left them: two segments with their pages, the runs of another two, and those that the last segment was made of. */
async function leave(store: MemoryStore): Promise<void> {
  for (const seq of [1, 2]) {
    const table = tableOf(seq);
    const work = newWork(table);
    for (const { key, value } of pagesOf(seq, work, doWork(work), 0, work.pages)) {
      key[0] = tables.olderDedupPage;
      await store.commit([{ kind: "put", key, value }]);
    }
    const key = makeKey(tables.olderDedupSegment, seq);
    const value = sealValue(new DedupSegment(seq, work.pages, table.lastMs).encode(work.filter));
    await store.commit([{ kind: "put", key, value }]);
  }
  for (const seq of [2, 3, 4]) {
    const value = sealRun(tableOf(seq).words, 0, perSegment, Buffer.allocUnsafeSlow(runBytesMax(perSegment)));
    await store.commit([{ kind: "put", key: makeKey(tables.olderDedupRun, seq, 0), value }]);
  }
}

test("what was remembered by SHA-256 is found in segments and runs, until the window has passed over it", async () => {
  const store = new MemoryStore();
  assert.equal(OlderEvents.read(store), undefined);
  await leave(store);
  const older = OlderEvents.read(store);
  assert.equal(older?.lastMs, 4_000);
  const count = 6 * perSegment;
  const digests = olderDigests(7, eventsFrom(0, count));
  for (const [afterMs, first] of [
    [0, 1],
    [1_000, 2],
    [2_999, 3],
  ] as const) {
    const found = [...(older?.findAll(store, digests, count, afterMs) ?? [])].sort(([a], [b]) => a - b);
    assert.deepEqual(
      found,
      Array.from({ length: (5 - first) * perSegment }, (_, i) => {
        const event = first * perSegment + i;
        return [event, { partition: 3, offset: event }];
      }),
    );
  }
  assert.equal(older?.findAll(store, digests, count, 4_000), undefined);
  const others = olderDigests(8, eventsFrom(0, count));
  assert.equal(others.length, count * digestWordCount);
  assert.equal(older?.findAll(store, others, count, 0), undefined);
});
