import assert from "node:assert/strict";
import { test } from "node:test";
import { generator } from "../../../../test/support/vectors.ts";
import { MemoryStore } from "../../../adapter/memory/store.ts";
import { runSteps } from "../../turns.ts";
import { digestWordCount, entryWords, eventDigest } from "./entry.ts";
import { EntryTable } from "./entry-table.ts";
import { SealedSegments, type SegmentPlace } from "./sealed-segments.ts";
import { DedupSegment } from "./segment.ts";
import { doWork, filterBytes, newWork, pagesOf } from "./segment-work.ts";
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
  return sealTable(store, seq, table);
}

async function sealTable(store: MemoryStore, seq: number, table: EntryTable): Promise<Sealed> {
  const work = newWork(table);
  const pages = [...pagesOf(seq, work, doWork(work), 0, work.pages)];
  await store.commit(pages.map(({ key, value }) => ({ kind: "put", key, value })));
  const digests = new Uint32Array(table.count * digestWordCount);
  for (let i = 0; i < table.count; i++) {
    const at = i * entryWords;
    digests.set(table.words.subarray(at, at + digestWordCount), i * digestWordCount);
  }
  return { segment: new DedupSegment(seq, work.pages, table.lastMs), filter: work.filter, digests, table };
}

/** Counts the pages that are read. */
class CountedStore extends MemoryStore {
  reads = 0;

  override peek(key: Uint8Array) {
    this.reads++;
    return super.peek(key);
  }
}

/** Of different sizes, in more groups than share a sieve. */
const sizes = [
  3_000,
  1,
  90,
  700,
  64,
  2_000,
  10,
  300,
  ...Array.from({ length: 32 }, (_, i) => 20 + 60 * (i % 5)),
  4_000,
];

/** Takes a place and lays the segment's filter there, as sealing does. */
function placeOf(sealed: SealedSegments, table: EntryTable, sifted?: object): SegmentPlace {
  const place = runSteps(sealed.reserveSteps(filterBytes(table.count), table, sifted));
  doWork(newWork(table, place));
  return place;
}

function added(sealed: SealedSegments, { segment, filter, table }: Sealed, isNew: boolean): void {
  if (isNew) sealed.fill(placeOf(sealed, table), segment);
  else sealed.add(segment, filter);
}

for (const isNew of [false, true]) {
  const kind = isNew ? "just made" : "read from the store";

  test(`every event of every segment ${kind} is found, and others without reading a page for most of them`, async () => {
    const store = new CountedStore();
    const all = await Promise.all(sizes.map((events, i) => seal(store, i + 1, events)));
    const sealed = new SealedSegments();
    for (const each of all) added(sealed, each, isNew);
    for (const [i, { digests }] of all.entries()) {
      const count = digests.length / digestWordCount;
      const found = sealed.findAll(store, digests, count, 0);
      const places = Array.from({ length: count }, (_, n) => [n, { partition: i + 1, offset: 2 ** 33 + n }]);
      assert.deepEqual([...found!], places);
    }
    store.reads = 0;
    const others = new Uint32Array(1_000 * digestWordCount);
    for (let i = 0; i < 1_000; i++) eventDigest(key, 99, "/s", `id-${i}`, others, i * digestWordCount);
    assert.equal(sealed.findAll(store, others, 1_000, 0), undefined);
    assert(store.reads < 50 * sizes.length, `${store.reads} pages were read for 1,000 unknown events`);
    const mixed = new Uint32Array([...others.subarray(0, 400), ...all[0]!.digests, ...others.subarray(400)]);
    const found = sealed.findAll(store, mixed, mixed.length / digestWordCount, 0)!;
    assert.deepEqual(
      [...found.keys()],
      Array.from({ length: sizes[0]! }, (_, n) => 100 + n),
    );
  });

  test(`of segments ${kind} those that expired or were dropped answer no more, and all others without filters`, async () => {
    for (const filterBytesMax of [undefined, 0]) {
      const store = new CountedStore();
      const all = [await seal(store, 1, 50), await seal(store, 2, 50), await seal(store, 3, 50)] as const;
      const sealed = new SealedSegments(filterBytesMax);
      for (const each of all) added(sealed, each, isNew);
      const found = () => {
        return all.map(({ digests }) => sealed.findAll(store, digests, 50, 1_000)?.get(49)?.partition);
      };
      assert.deepEqual(found(), [undefined, 2, 3], "the first is as old as the window");
      sealed.remove(all[1].segment);
      assert.deepEqual(found(), [undefined, undefined, 3]);
      sealed.remove(all[0].segment);
      sealed.remove(all[2].segment);
      store.reads = 0;
      assert.deepEqual(found(), [undefined, undefined, undefined]);
      assert.equal(store.reads, 0);
    }
  });
}

test("a segment is found once its place is filled, also when all others were dropped meanwhile", async () => {
  const store = new MemoryStore();
  const [first, second] = [await seal(store, 1, 50), await seal(store, 2, 50)];
  const sealed = new SealedSegments();
  added(sealed, first!, true);
  const place = placeOf(sealed, second!.table);
  assert.equal(sealed.findAll(store, second!.digests, 50, 0), undefined);
  sealed.remove(first!.segment);
  sealed.fill(place, second!.segment);
  assert.equal(sealed.findAll(store, second!.digests, 50, 0)?.size, 50);
});

test("what was looked for before it was written is found in its segment, whatever came and went since", async () => {
  const next = generator(5);
  const upTo = (count: number) => Math.floor(next() * count);
  let spared = 0;
  for (let round = 0; round < 12; round++) {
    const store = new MemoryStore();
    const sealed = new SealedSegments();
    const kept: Sealed[] = [];
    let ids = 0;
    const drop = () => {
      const from = upTo(2) * upTo(kept.length);
      for (const { segment } of kept.splice(from, 1 + upTo(30))) sealed.remove(segment);
    };
    /** Events are looked for as they arrive, and once more where the segments are others by the time they are written. */
    const arrive = () => {
      const events = 1 + upTo(40);
      const digests = new Uint32Array(events * digestWordCount);
      for (let i = 0; i < events; i++) eventDigest(key, 1, "/s", `id-${ids++}`, digests, i * digestWordCount);
      sealed.findAll(store, digests, events, 0);
      return { events, digests, state: sealed.state };
    };
    const write = ({ events, digests, state }: ReturnType<typeof arrive>) => {
      if (sealed.state !== state) sealed.findAll(store, digests, events, 0);
      open.table.addRun(digests, events, 0, 1_000, open.seq, ids);
    };
    let open = { seq: 1, table: new EntryTable(), sifting: sealed.sifting };
    /** Requests that wait for their turn, some of them for as long as several segments take. */
    const waiting = Array.from({ length: 4 }, arrive);
    while (open.seq < 120) {
      for (let writes = 1 + upTo(4); writes > 0; writes--) {
        write(waiting.splice(upTo(waiting.length), 1, arrive())[0]!);
        if (upTo(12) === 0) drop();
      }
      const full = open;
      open = { seq: full.seq + 1, table: new EntryTable(), sifting: sealed.sifting };
      const { segment, filter, digests } = await sealTable(store, full.seq, full.table);
      const { sifting } = sealed;
      const early = arrive();
      const place = placeOf(sealed, full.table, full.sifting);
      write(early);
      if (full.sifting !== undefined && full.sifting === sifting && sifting === sealed.sifting) spared++;
      sealed.fill(place, segment);
      kept.push({ segment, filter, digests, table: full.table });
      for (const each of [kept[upTo(kept.length)]!, kept.at(-1)!]) {
        const found = sealed.findAll(store, each.digests, each.table.count, 0);
        assert.equal(found?.size, each.table.count, `segment ${each.segment.seq} of ${full.seq}`);
      }
    }
  }
  assert.ok(spared > 100, `only ${spared} tables were not added to a sieve`);
});

test("many events that are looked for and never written do not fill the sieve", async () => {
  const store = new CountedStore();
  const sealed = new SealedSegments();
  added(sealed, await seal(store, 1, 200), true);
  const { sifting } = sealed;
  assert.notEqual(sifting, undefined);
  const others = (round: number) => {
    const digests = new Uint32Array(1_000 * digestWordCount);
    for (let i = 0; i < 1_000; i++) eventDigest(key, round, "/s", `id-${i}`, digests, i * digestWordCount);
    return digests;
  };
  for (let round = 10; round < 200; round++) sealed.findAll(store, others(round), 1_000, 0);
  assert.equal(sealed.sifting, undefined);
  store.reads = 0;
  assert.equal(sealed.findAll(store, others(200), 1_000, 0), undefined);
  assert.ok(store.reads < 50, `${store.reads} pages were read`);
  const second = await seal(store, 2, 200);
  sealed.fill(placeOf(sealed, second.table, sifting), second.segment);
  assert.equal(sealed.findAll(store, second.digests, 200, 0)?.size, 200);
});
