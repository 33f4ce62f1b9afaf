import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { SingleOwnership } from "../../src/adapter/single/ownership.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { Bytes, Entry, Range, Snapshot, Store, StoreStats, WriteOp } from "../../src/port/store.ts";
import { inlineSqlChildren, inlineThreads, testSettings } from "../support/engine.ts";
import { temporaryFolder } from "../support/process.ts";

/** A store that counts what is read from it: values asked for, and every entry that a walk passes. */
class CountingStore implements Store {
  readonly #store: Store;
  reads = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  get(key: Bytes): Bytes | undefined {
    this.reads++;
    return this.#store.get(key);
  }

  peek(key: Bytes): Bytes | undefined {
    this.reads++;
    return this.#store.peek(key);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    this.reads++;
    return this.#store.head(key, bytesMax);
  }

  *range(range: Range): Iterable<Entry> {
    this.reads++;
    for (const entry of this.#store.range(range)) {
      this.reads++;
      yield entry;
    }
  }

  borrow(range: Range): Iterable<Entry> {
    return this.range(range);
  }

  *keys(range: Range): Iterable<Bytes> {
    this.reads++;
    for (const key of this.#store.keys(range)) {
      this.reads++;
      yield key;
    }
  }

  checkpoint(): Promise<void> {
    return this.#store.checkpoint();
  }

  commit(ops: readonly WriteOp[]): Promise<void> {
    return this.#store.commit(ops);
  }

  snapshot(): Snapshot {
    return this.#store.snapshot();
  }

  stats(): StoreStats {
    return this.#store.stats();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function engineOn(store: Store, folder: string): Engine {
  const objects = new MemoryObjectStore();
  return new Engine(
    {
      store,
      objects,
      threads: inlineThreads(objects),
      sqlChildren: inlineSqlChildren(),
      ownership: new SingleOwnership(folder),
      clock: new NodeClock(),
      random: new NodeRandom(),
    },
    testSettings,
  );
}

async function fill(folder: string, streams: number, partitions: number, rounds: number): Promise<void> {
  const store = new LmdbStore(join(folder, "store"));
  const engine = engineOn(store, folder);
  await engine.own();
  await engine.metastore.createNamespace("n");
  const names = Array.from({ length: streams }, (_, i) => `s${i}`);
  await Promise.all(names.map((stream) => engine.streams.create({ namespace: "n", stream }, partitions, undefined)));
  for (let round = 0; round < rounds; round++) {
    await Promise.all(
      names.flatMap((stream) =>
        Array.from({ length: partitions }, (_, partition) =>
          engine.streams.append({ namespace: "n", stream, partition, records: [{ value: Buffer.alloc(100) }] }),
        ),
      ),
    );
  }
  await engine.stop();
  await store.close();
}

/** What a start reads before the engine is ready, and what the first append after it reads. */
async function readsToStart(folder: string): Promise<{ start: number; append: number }> {
  const store = new CountingStore(new LmdbStore(join(folder, "store"), { exclusive: true }));
  const engine = engineOn(store, folder);
  await engine.own();
  assert(engine.isReady);
  const start = store.reads;
  const records = [{ value: Buffer.alloc(1) }];
  const before = store.reads;
  await engine.streams.append({ namespace: "n", stream: "s0", partition: 0, records });
  const append = store.reads - before;
  await engine.stop();
  await store.close();
  return { start, append };
}

/** Proves: a start reads the same few values whatever the store holds, so it takes as long with 1 batch as with 20,000. */
test("a start does not scan the store", async (t) => {
  const folders = [await temporaryFolder(), await temporaryFolder()] as const;
  t.after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));
  await fill(folders[0], 1, 1, 1);
  await fill(folders[1], 10, 200, 10);
  const small = await readsToStart(folders[0]);
  const large = await readsToStart(folders[1]);
  t.diagnostic(`${large.start} reads to start, ${large.append} for the first append`);
  assert.deepEqual(large, small);
  assert(large.start < 30, `a start reads ${large.start} entries`);
});
