import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import type { WriteOp } from "../../src/engine/collection/ops.ts";
import { parseSchema } from "../../src/engine/schema/schema-parse.ts";
import type { Filter } from "../../src/engine/search/filter/filter.ts";
import type { WriteOp as StoreOp } from "../../src/port/store.ts";
import { startMemoryEngine, unsealed } from "../support/memory-engine.ts";

/** A store whose commits are seen by readers before they are answered, which `held` puts off. */
class LateStore extends MemoryStore {
  held: Promise<void> | undefined;

  override async commit(ops: readonly StoreOp[]): Promise<void> {
    await super.commit(ops);
    await this.held;
  }
}

const strong = { token: [], eventual: false } as const;
const ref = { namespace: "n", collection: "c" };
const upsert = (id: number): WriteOp => ({
  kind: "upsert",
  id,
  source: { tag: "a" },
  vectors: undefined,
  sparseVectors: undefined,
  condition: undefined,
  ifVersion: undefined,
});
const tagged: Filter = { kind: "terms", field: "tag", values: ["a"] };

for (const [what, filter] of [
  ["all documents", undefined],
  ["what a filter matches", tagged],
] as const) {
  test(`a count of ${what} is not older than a document that was shown before it`, async () => {
    const store = new LateStore();
    const engine = await startMemoryEngine(unsealed, store);
    await engine.metastore.createNamespace("n");
    const schema = parseSchema({ fields: [{ name: "tag", kind: "keyword" }] });
    await engine.collections.create("n", "c", schema);
    await engine.documents.write(ref, [upsert(1)], 10);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.held = promise;
    const written = engine.documents.write(ref, [upsert(2)], 10);
    const isShown = async () => (await engine.documents.get(ref, [2], strong)).documents[0] !== undefined;
    while (!(await isShown())) await new Promise((next) => setImmediate(next));
    const counted = engine.documents.count(ref, filter, strong);
    // As long as whoever does not wait for the commit takes.
    for (let turns = 0; turns < 20; turns++) await new Promise((next) => setImmediate(next));
    store.held = undefined;
    resolve();
    assert.equal((await counted).count, 2);
    await written;
    await engine.stop();
  });
}
