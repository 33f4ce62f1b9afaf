import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "../../../engine/errors.ts";
import { BatchCursor, encodeBatch, type RecordInput, sealBatch } from "../../../engine/log/record-batch.ts";
import type { FetchResult } from "../../../engine/stream/streams.ts";
import { cachedPage } from "./cached-page.ts";
import { wholePage } from "./page.ts";
import { chunkRecords, PageCache } from "./page-cache.ts";

const key = Buffer.from("key");

/** A partition whose batches hold so many records each, of so many bytes. */
class Partition {
  readonly #batches: { readonly base: number; readonly end: number; readonly bytes: Buffer }[] = [];
  /** Batches read so far. */
  reads = 0;
  end = 0;

  add(records: number, valueBytes: number): void {
    const inputs = Array.from(
      { length: records },
      (_, i): RecordInput => ({
        value: Buffer.alloc(valueBytes, String((this.end + i) % 10)),
      }),
    );
    const batch = encodeBatch(inputs, 1_700_000_000_000);
    sealBatch(batch, key, {
      baseOffset: this.end,
      appendTimeMs: 0,
      prefixTimestampMs: 0,
      prefixRetentionMs: 0,
      bytesBefore: 0,
    });
    this.#batches.push({ base: this.end, end: this.end + records, bytes: batch.bytes });
    this.end += records;
  }

  damage(batch: number): void {
    const { bytes } = this.#batches[batch]!;
    bytes[bytes.length - 1]! ^= 1;
  }

  fetch(offset: number): FetchResult {
    const read = (from: number) => this.#read(from);
    const place = { stream: 1, partition: 0, logStartOffset: 0 };
    return { ...place, offset, highWatermark: this.end, read, readBorrowed: read };
  }

  *#read(from: number): Iterable<BatchCursor> {
    for (const { end, bytes } of this.#batches) {
      if (end <= from) continue;
      this.reads++;
      yield new BatchCursor(key, bytes);
    }
  }
}

const pageBytes = 1024 * 1024;

function page(result: FetchResult, bytesMax: number, cache: PageCache): string {
  return Buffer.concat(cachedPage(result, bytesMax, Buffer.alloc(pageBytes + 1024), cache)).toString();
}

function expected(result: FetchResult, bytesMax: number): string {
  return wholePage(result, bytesMax, Buffer.alloc(pageBytes + 1024)).toString();
}

test("pages are those without a cache, wherever they start and however often they are asked for", () => {
  const batches = fc.array(
    fc.record({
      records: fc.constantFrom(1, 2, 100, chunkRecords - 1, chunkRecords, 700),
      bytes: fc.constantFrom(0, 10, 200),
    }),
    { minLength: 1, maxLength: 12 },
  );
  const asks = fc.array(
    fc.record({ from: fc.nat(2_000), bytesMax: fc.constantFrom(1, 300, 20_000, 100_000, pageBytes) }),
    { minLength: 1, maxLength: 8 },
  );
  fc.assert(
    fc.property(batches, asks, (given, questions) => {
      const partition = new Partition();
      for (const { records, bytes } of given) partition.add(records, bytes);
      const cache = new PageCache();
      for (let round = 0; round < 3; round++) {
        for (const { from, bytesMax } of questions) {
          const result = partition.fetch(from % (partition.end + 1));
          assert.equal(page(result, bytesMax, cache), expected(result, bytesMax));
        }
        // What was cached is still right when more has come.
        partition.add(40, 20);
      }
    }),
    { numRuns: 60 },
  );
});

test("the third time nothing is read but what is in no whole chunk", () => {
  const partition = new Partition();
  for (let i = 0; i < 20; i++) partition.add(100, 50);
  const cache = new PageCache();
  for (let i = 0; i < 3; i++) {
    partition.reads = 0;
    page(partition.fetch(0), pageBytes, cache);
  }
  // 2,000 records: seven chunks, and 208 records in the last three batches.
  assert.equal(partition.reads, 3);
  assert.ok(cache.bytes > 0);
});

test("one reader of a long log leaves nothing in the cache", () => {
  const partition = new Partition();
  for (let i = 0; i < 200; i++) partition.add(100, 200);
  const cache = new PageCache();
  for (let offset = 0; offset < partition.end; ) {
    const { next_offset } = JSON.parse(page(partition.fetch(offset), 100_000, cache)) as { next_offset: number };
    offset = next_offset;
  }
  assert.equal(cache.bytes, 0);
});

test("a page ends before a damaged batch, and the one that starts there fails", () => {
  const partition = new Partition();
  for (let i = 0; i < 10; i++) partition.add(100, 50);
  partition.damage(5);
  const cache = new PageCache();
  for (let i = 0; i < 3; i++) {
    const { next_offset } = JSON.parse(page(partition.fetch(0), pageBytes, cache)) as { next_offset: number };
    assert.equal(next_offset, 500);
    assert.throws(() => page(partition.fetch(500), pageBytes, cache), EngineError);
  }
});

test("the cache keeps within its bounds and forgets what was used longest ago", () => {
  const cache = new PageCache();
  const chunk = Buffer.alloc(200 * 1024);
  const askTwice = (key: string) => {
    for (let i = 0; i < 2; i++) cache.get(key, () => chunk);
  };
  for (let i = 0; i < 300; i++) {
    askTwice(`1/0/${i}`);
    askTwice("1/0/0");
  }
  assert.ok(cache.bytes <= 32 * 1024 * 1024);
  assert.ok(cache.has("1/0/0") && cache.has("1/0/299") && !cache.has("1/0/1"));
});

test("chunks that are too large are not cached, and tried once", () => {
  const partition = new Partition();
  for (let i = 0; i < 6; i++) partition.add(100, 2_000);
  const cache = new PageCache();
  const reads = Array.from({ length: 4 }, () => {
    partition.reads = 0;
    page(partition.fetch(0), pageBytes, cache);
    return partition.reads;
  });
  assert.equal(reads[1]! > reads[0]!, true);
  assert.deepEqual(reads.slice(2), [reads[0], reads[0]]);
  assert.ok(cache.bytes < 1024);
});
