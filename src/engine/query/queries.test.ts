import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startMemoryEngine, unsealed } from "../../../test/support/memory-engine.ts";
import type { Engine } from "../engine.ts";
import { parseQuery } from "../retrieval/parse.ts";
import { parseSchema } from "../schema/schema-parse.ts";

let engine: Engine;

before(async () => {
  engine = await startMemoryEngine(unsealed);
  await engine.metastore.createNamespace("n");
  await engine.collections.create("n", "c", parseSchema({ fields: [{ name: "tag", kind: "keyword" }] }));
  const op = { kind: "upsert", id: 1, source: { tag: "a" }, vectors: {}, sparseVectors: {} } as const;
  const ops = [{ ...op, condition: undefined, ifVersion: undefined }];
  await engine.documents.write({ namespace: "n", collection: "c" }, ops, 100, undefined);
});

after(() => engine.stop());

function search(signal?: AbortSignal) {
  const plan = parseQuery({ from: "c" }, (collection) => engine.queries.schemaOf("n", collection));
  return engine.queries.run("n", plan, [], signal);
}

test("a query that nobody waits for is not run", async () => {
  await assert.rejects(search(AbortSignal.abort()), { reason: "deadline_exceeded" });
});

test("queries that give up while they wait for a place take none from the others", async () => {
  // More than may run at once, twice over, so that places have to be handed on and given back.
  for (let round = 0; round < 3; round++) {
    const stop = new AbortController();
    const queries = Array.from({ length: 600 }, (_, i) => search(i % 2 === 0 ? stop.signal : undefined));
    setImmediate(() => stop.abort());
    const outcomes = await Promise.allSettled(queries);
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === "fulfilled") assert.equal(outcome.value.rows?.[0]?._id, 1);
      else {
        assert.equal(i % 2, 0, "only those that were stopped fail");
        assert.equal((outcome.reason as { reason: string }).reason, "deadline_exceeded");
      }
    }
  }
  assert.equal((await search()).rows?.length, 1);
});

test("more queries than may wait are refused, the others answered", async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 2_500 }, () => search()));
  const refused = outcomes.filter((each) => each.status === "rejected");
  assert(refused.length > 0 && refused.length < 500, `${refused.length} are refused`);
  for (const { reason } of refused) assert.equal((reason as { reason: string }).reason, "unavailable");
  assert.equal((await search()).rows?.length, 1);
});
