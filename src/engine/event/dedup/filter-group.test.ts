import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../../adapter/memory/store.ts";
import { digestWordCount, eventDigest } from "./entry.ts";
import { EntryTable } from "./entry-table.ts";
import { FilterGroup } from "./filter-group.ts";
import { type DedupSegment, SegmentWriter } from "./segment.ts";

interface Sealed {
  readonly segment: DedupSegment;
  readonly filter: Uint8Array;
  readonly digests: Uint32Array;
}

/** A segment with so many events, whose pages are in the store. */
async function seal(store: MemoryStore, seq: number, events: number): Promise<Sealed> {
  const table = new EntryTable();
  const digests = new Uint32Array(events * digestWordCount);
  for (let i = 0; i < events; i++) {
    eventDigest(seq, "/s", `id-${i}`, digests, i * digestWordCount);
    table.add(digests, i * digestWordCount, 1_000 * seq, seq, 2 ** 33 + i);
  }
  const writer = new SegmentWriter(seq, table, 3);
  while (!writer.isDone) {
    await store.commit(writer.nextPages().map(({ key, value }) => ({ kind: "put", key, value })));
  }
  return { ...writer.finish(), digests };
}

/** Counts the pages that are read. */
class CountedStore extends MemoryStore {
  reads = 0;

  override get(key: Uint8Array) {
    this.reads++;
    return super.get(key);
  }
}

/** Of different sizes, the longest filter first: shorter ones are repeated in the group. */
const sizes = [3_000, 1, 90, 700, 64, 2_000, 10, 300];

test("every event of every segment is found, and others without reading a page for most of them", async () => {
  const store = new CountedStore();
  const all = await Promise.all(sizes.map((events, i) => seal(store, i + 1, events)));
  const group = new FilterGroup(Math.max(...all.map(({ filter }) => filter.length)));
  for (const { segment, filter } of all) {
    assert(group.hasRoom(filter.length));
    group.add(segment, filter);
  }
  assert(!group.hasRoom(64), "eight segments");
  for (const [i, { digests }] of all.entries()) {
    for (let at = 0; at < digests.length; at += digestWordCount) {
      const place = group.find(store, digests, at, 0);
      assert.deepEqual(place, { partition: i + 1, offset: 2 ** 33 + at / digestWordCount });
    }
  }
  store.reads = 0;
  const other = new Uint32Array(digestWordCount);
  for (let i = 0; i < 1_000; i++) {
    eventDigest(99, "/s", `id-${i}`, other, 0);
    assert.equal(group.find(store, other, 0, 0), undefined);
  }
  assert(store.reads < 400, `${store.reads} pages were read for 1,000 unknown events and 8 segments`);
});

test("expired and dropped segments answer no more, and without filters all others still do", async () => {
  const store = new CountedStore();
  const [first, second, third] = [await seal(store, 1, 50), await seal(store, 2, 50), await seal(store, 3, 50)];
  const group = new FilterGroup(first.filter.length);
  for (const { segment, filter } of [first, second, third]) group.add(segment, filter);
  const found = () => [first, second, third].map(({ digests }) => group.find(store, digests, 0, 1_000)?.partition);
  assert.deepEqual(found(), [undefined, 2, 3], "the first is as old as the window");
  group.remove(second.segment);
  assert.deepEqual(found(), [undefined, undefined, 3]);
  group.forgetFilters();
  assert.equal(group.bytes, 0);
  assert(!group.hasRoom(64));
  assert.deepEqual(found(), [undefined, undefined, 3]);
  assert(!group.isEmpty);
  group.remove(first.segment);
  group.remove(third.segment);
  assert(group.isEmpty);
});
