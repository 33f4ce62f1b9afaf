import assert from "node:assert/strict";
import { test } from "node:test";
import { startMemoryEngine, unsealed } from "../../../test/support/memory-engine.ts";
import type { Engine } from "../engine.ts";
import { parseSchema } from "../schema/schema-parse.ts";

const records = 1_200;

async function startLink(engine: Engine): Promise<void> {
  await engine.metastore.createNamespace("n");
  await engine.collections.create("n", "c", parseSchema({}));
  await engine.streams.create({ namespace: "n", stream: "s" }, 1, undefined);
  const values = Array.from({ length: records }, (_, id) => ({ value: Buffer.from(JSON.stringify({ id })) }));
  await engine.streams.append({ namespace: "n", stream: "s", partition: 0, records: values });
  const target = { kind: "collection", name: "c" };
  await engine.links.create({ namespace: "n", name: "l", source: "s", target, options: {} });
}

function appliedOf(detail: Awaited<ReturnType<Engine["links"]["detail"]>>): number {
  return detail.applied?.[0]?.offset ?? 0;
}

test("a throttled collection holds a link back without an error", async () => {
  const engine = await startMemoryEngine({ ...unsealed, tailRecordsMax: 100 });
  try {
    await startLink(engine);
    // A detail waits a moment for the link, so that two in a row show that it stands still.
    const first = appliedOf(await engine.links.detail("n", "l", { token: [], consistency: "strong" }));
    const second = await engine.links.detail("n", "l", { token: [], consistency: "strong" });
    assert(first > 0 && first < records, `applied ${first}`);
    assert.deepEqual([appliedOf(second), second.error], [first, undefined]);
    assert.equal(engine.collections.get("n", "c").backpressure.throttled, true);
  } finally {
    await engine.stop();
  }
});

test("a link goes on when the indexes have caught up", async () => {
  const engine = await startMemoryEngine({ sealIdleMs: 0, tailRecordsMax: 100 });
  try {
    await startLink(engine);
    for (;;) {
      const detail = await engine.links.detail("n", "l", { token: [], consistency: "strong" });
      assert.equal(detail.error, undefined);
      if (appliedOf(detail) === records) break;
    }
    const { count } = await engine.documents.count({ namespace: "n", collection: "c" }, undefined, {
      token: [],
      eventual: false,
    });
    assert.equal(count, records);
  } finally {
    await engine.stop();
  }
});
