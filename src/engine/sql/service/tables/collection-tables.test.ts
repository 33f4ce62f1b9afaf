import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startMemoryEngine } from "../../../../../test/support/memory-engine.ts";
import { MemoryStore } from "../../../../adapter/memory/store.ts";
import type { Snapshot, Store } from "../../../../port/store.ts";
import { readCollectionTotals } from "../../../collection/collection-store.ts";
import type { Engine } from "../../../engine.ts";
import { formatSchema, parseSchema } from "../../../schema/schema-parse.ts";
import type { CollectionTable } from "../../messages.ts";
import { readValue } from "../../value.ts";
import { columnType } from "../duck-type.ts";
import { readChunk } from "../result/read-chunk.ts";
import { CollectionTables } from "./collection-tables.ts";
import { NamespaceDatabase } from "./namespace-database.ts";

/** What is told of a collection while a statement loads it is newer than what that statement reads. */

const used = { all: true, names: new Set<string>() };
const ready = () => {};
const store = new MemoryStore();
let engine: Engine;
let database: NamespaceDatabase;

before(async () => {
  engine = await startMemoryEngine({}, store);
  await engine.metastore.createNamespace("m");
  database = await NamespaceDatabase.open({ id: 1, name: "m" }, { memoryBytes: 1e8, threads: 1 });
});

after(async () => {
  await database.idle();
  database.close();
  await engine.stop();
});

/** A collection whose one document was written `writes` times, with the store as it was after each. */
async function history(collection: string, writes: number) {
  const schema = parseSchema({ fields: [{ name: "n", kind: "i64" }] });
  const { meta } = await engine.collections.create("m", collection, schema);
  const { id, streamId, schemaVersion } = meta;
  const snapshots: Snapshot[] = [];
  for (let n = 1; n <= writes; n++) {
    const unconditional = { condition: undefined, ifVersion: undefined, vectors: undefined, sparseVectors: undefined };
    await engine.documents.write(
      { namespace: "m", collection },
      [{ kind: "upsert", id: 1, source: { n }, ...unconditional }],
      100,
    );
    snapshots.push(store.snapshot());
  }
  assert.equal(readCollectionTotals(snapshots.at(-1)!, id).changes, writes);
  const told = (from: number, upTo: number): CollectionTable => ({
    schema: "collections",
    name: collection,
    id,
    collection,
    schemaVersion,
    fields: formatSchema(schema),
    stream: streamId,
    delta: { from, upTo, next: upTo, ids: Float64Array.from(from === upTo ? [] : [1]) },
  });
  const tables = new CollectionTables(database, { snapshot: () => snapshots.shift()! } as Store);
  return { told, tables };
}

async function shown(collection: string): Promise<unknown> {
  const prepared = await database.writer.prepare(`SELECT n FROM collections.${collection}`);
  const result = await prepared.run();
  const types = result.columns.map(({ type }) => columnType(type));
  const { columns } = readChunk(types, (await result.next())!);
  prepared.close();
  return readValue(columns[0]!, 0);
}

test("a change that is told while earlier ones are replaced is not taken for one of them", async () => {
  const { told, tables } = await history("replaced", 3);
  tables.take(told(1, 1));
  await tables.load(told(1, 1), used, ready);
  tables.take(told(1, 2));
  const tellOnce = () => {
    if (!isTold) tables.take(told(2, 3));
    isTold = true;
  };
  let isTold = false;
  await tables.load(told(1, 2), used, tellOnce);
  assert.ok(isTold);
  assert.equal(await shown("replaced"), 2n);
  await tables.load(told(2, 3), used, ready);
  assert.equal(await shown("replaced"), 3n);
});

test("a change that is told while all is loaded is not taken for loaded", async () => {
  const { told, tables } = await history("loaded", 2);
  tables.take(told(1, 1));
  const loading = tables.load(told(1, 1), used, ready);
  await new Promise((resolve) => setImmediate(resolve));
  tables.take(told(1, 2));
  await loading;
  assert.equal(await shown("loaded"), 1n);
  await tables.load(told(1, 2), used, ready);
  assert.equal(await shown("loaded"), 2n);
});

test("changes that are lost while earlier ones are replaced make it load all", async () => {
  const { told, tables } = await history("lost", 4);
  tables.take(told(1, 1));
  await tables.load(told(1, 1), used, ready);
  tables.take(told(1, 2));
  let isTold = false;
  const tellOnce = () => {
    // The third change is told to nobody.
    if (!isTold) tables.take({ ...told(3, 4), delta: { from: 4, upTo: 4, next: 4, ids: new Float64Array() } });
    isTold = true;
  };
  await tables.load(told(1, 2), used, tellOnce);
  assert.equal(await shown("lost"), 2n);
  await tables.load(told(4, 4), used, ready);
  assert.equal(await shown("lost"), 3n);
});

test("a statement that is stopped while it loads leaves what was told to the next one", async () => {
  const { told, tables } = await history("stopped", 3);
  tables.take(told(1, 1));
  await tables.load(told(1, 1), used, ready);
  tables.take(told(1, 2));
  const stop = () => {
    throw new Error("stopped");
  };
  await assert.rejects(tables.load(told(1, 2), used, stop), /stopped/);
  tables.take(told(2, 3));
  await tables.load(told(2, 3), used, ready);
  assert.equal(await shown("stopped"), 3n);
});

test("a table can be read all the time while it is loaded anew", async () => {
  const loads = 40;
  const { told, tables } = await history("kept", loads);
  tables.take(told(1, 1));
  await tables.load(told(1, 1), used, ready);
  const reader = await database.connect(undefined);
  let isDone = false;
  const read = async () => {
    while (!isDone) (await reader.prepare("SELECT n FROM collections.kept")).close();
  };
  const reading = read();
  for (let n = 2; n <= loads; n++) {
    // As if a message was missed: nobody knows what changed.
    tables.take({ ...told(n, n), delta: { from: -1, upTo: n, next: n, ids: new Float64Array() } });
    await tables.load(told(n, n), used, ready);
  }
  isDone = true;
  await reading;
  database.giveBack(undefined, reader, false);
  assert.equal(await shown("kept"), BigInt(loads));
});
