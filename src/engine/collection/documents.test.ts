import assert from "node:assert/strict";
import { test } from "node:test";
import { startMemoryEngine, unsealed } from "../../../test/support/memory-engine.ts";
import { parseSchema } from "../schema/schema-parse.ts";

test("a document grows by patches up to a bound, and a get names documents up to another", async () => {
  const engine = await startMemoryEngine(unsealed);
  try {
    await engine.metastore.createNamespace("n");
    await engine.collections.create("n", "c", parseSchema({}));
    const ref = { namespace: "n", collection: "c" };
    const write = (kind: "upsert" | "patch", source: Record<string, unknown>) => {
      const content = { source, vectors: undefined, sparseVectors: undefined, condition: undefined };
      return engine.documents.write(ref, [{ kind, id: 1, ...content, ifVersion: undefined }], 1000);
    };
    const large = "x".repeat(12_000_000);
    await write("upsert", { a: large });
    await write("patch", { b: large });
    await assert.rejects(write("patch", { c: large }), {
      reason: "invalid_argument",
      details: { field: "ops[0].patch.source" },
    });
    const get = (ids: readonly number[]) => engine.documents.get(ref, ids, { token: [], eventual: false });
    assert.equal((await get([1, 2, 1])).documents[2]?.version, 2);
    await assert.rejects(get([2, 1, 1, 1]), { details: { field: "ids" }, message: /the first 3 fit/ });
    assert.deepEqual((await write("patch", { b: null, c: 1 })).results[0]?.status, "updated");
  } finally {
    await engine.stop();
  }
});
