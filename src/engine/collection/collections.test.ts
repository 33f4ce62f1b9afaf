import assert from "node:assert/strict";
import { test } from "node:test";
import { startMemoryEngine } from "../../../test/support/memory-engine.ts";
import { parseSchema } from "../schema/schema-parse.ts";

test("an alias that is made in the same commit as its collection is dropped goes with it", async () => {
  const engine = await startMemoryEngine();
  try {
    const { collections, metastore } = engine;
    await metastore.createNamespace("n");
    await collections.create("n", "c", parseSchema({}));
    await Promise.all([
      collections.updateAliases("n", [{ kind: "add", alias: "a", collection: "c" }]),
      collections.drop("n", "c"),
    ]);
    assert.deepEqual(collections.aliases("n"), []);
    await collections.create("n", "a", parseSchema({}));
  } finally {
    await engine.stop();
  }
});
