import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../../adapter/memory/store.ts";
import { digestWordCount, eventDigest } from "./entry.ts";
import { EntryTable } from "./entry-table.ts";
import { FilterGroup } from "./filter-group.ts";
import { type DedupSegment, SegmentWriter } from "./segment.ts";
import { digestKeyBytes } from "./sip-hash.ts";

const key = Buffer.alloc(digestKeyBytes, 3);

interface Sealed {
  readonly segment: DedupSegment;
  readonly filter: Uint8Array;
  readonly digests: Uint32Array;
  readonly table: EntryTable;
}

/** A segment with so many events, whose pages are in the store. */
async function seal(store: MemoryStore, seq: number, events: number): Promise<Sealed> {
  const table = new EntryTable();
  const digests = new Uint32Array(events * digestWordCount);
  for (let i = 0; i < events; i++) {
    eventDigest(key, seq, "/s", `id-${i}`, digests, i * digestWordCount);
    table.add(digests, i * digestWordCount, 1_000 * seq, seq, 2 ** 33 + i);
  }
  const writer = new SegmentWriter(seq, table, 3);
  while (!writer.isDone) {
    await store.commit(writer.nextPages().map(({ key, value }) => ({ kind: "put", key, value })));
  }
  return { ...writer.finish(), digests, table };
}

/** Counts the pages that are read. */
class CountedStore extends MemoryStore {
  reads = 0;

  override peek(key: Uint8Array) {
    this.reads++;
    return super.peek(key);
  }
}

/** Of different sizes, the longest filter first: shorter ones are repeated in the group. */
const sizes = [3_000, 1, 90, 700, 64, 2_000, 10, 300];

function added(group: FilterGroup, { segment, filter, table }: Sealed, isNew: boolean): void {
  assert(group.hasRoom(filter.length, isNew));
  assert(!group.hasRoom(filter.length, !isNew), "segments with and without a table are apart");
  group.add(segment, filter, isNew ? table : undefined);
}

for (const isNew of [false, true]) {
  const kind = isNew ? "just made" : "read from the store";

  test(`every event of every segment ${kind} is found, and others without reading a page for most of them`, async () => {
    const store = new CountedStore();
    const all = await Promise.all(sizes.map((events, i) => seal(store, i + 1, events)));
    const group = new FilterGroup(Math.max(...all.map(({ filter }) => filter.length)), isNew);
    for (const each of all) added(group, each, isNew);
    assert(!group.hasRoom(64, isNew), "eight segments");
    for (const [i, { digests }] of all.entries()) {
      const count = digests.length / digestWordCount;
      const found = group.findAll(store, digests, count, 0, undefined);
      const places = Array.from({ length: count }, (_, n) => [n, { partition: i + 1, offset: 2 ** 33 + n }]);
      assert.deepEqual([...found!], places);
    }
    store.reads = 0;
    const others = new Uint32Array(1_000 * digestWordCount);
    for (let i = 0; i < 1_000; i++) eventDigest(key, 99, "/s", `id-${i}`, others, i * digestWordCount);
    assert.equal(group.findAll(store, others, 1_000, 0, undefined), undefined);
    assert(store.reads < 400, `${store.reads} pages were read for 1,000 unknown events and 8 segments`);
    const mixed = new Uint32Array([...others.subarray(0, 400), ...all[0]!.digests, ...others.subarray(400)]);
    const count = mixed.length / digestWordCount;
    const alone = Array.from({ length: count }, (_, i) => [i, group.find(store, mixed, i * digestWordCount, 0)]);
    assert.deepEqual(
      [...group.findAll(store, mixed, count, 0, undefined)!],
      alone.filter(([, place]) => place !== undefined),
      "as each alone is found",
    );
  });

  test(`of segments ${kind} those that expired or were dropped answer no more, and all others without filters`, async () => {
    const store = new CountedStore();
    const all = [await seal(store, 1, 50), await seal(store, 2, 50), await seal(store, 3, 50)] as const;
    const group = new FilterGroup(all[0].filter.length, isNew);
    for (const each of all) added(group, each, isNew);
    const found = () => {
      return all.map(({ digests }) => group.findAll(store, digests, 50, 1_000, undefined)?.get(49)?.partition);
    };
    assert.deepEqual(found(), [undefined, 2, 3], "the first is as old as the window");
    group.remove(all[1].segment);
    assert.deepEqual(found(), [undefined, undefined, 3]);
    group.forgetFilters();
    assert.equal(group.bytes, 0);
    assert(!group.hasRoom(64, isNew));
    assert.deepEqual(found(), [undefined, undefined, 3]);
    assert(!group.isEmpty);
    group.remove(all[0].segment);
    group.remove(all[2].segment);
    assert(group.isEmpty);
  });
}
