import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { CollectionClient, upserts } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

test("everything about a collection is there after a restart", async () => {
  const dataDir = await temporaryFolder();
  try {
    const first = await ServerProcess.start({ dataDir });
    const c = await CollectionClient.create(first.url, "n");
    await c.made("docs", { fields: [{ name: "a", kind: "i64" }], dynamic: "dynamic" });
    await ask(`${c.url}/aliases`, { body: { actions: [{ add: { alias: "x", collection: "docs" } }] } });
    await ask(`${c.of("docs")}/hot`, { method: "PUT", body: { enabled: true } });
    await c.written(
      "docs",
      upserts([1, 2], (a) => ({ a, b: "w" })),
    );
    await c.sealed("docs");
    const info = await c.info("docs");
    assert.equal(await first.stop(), 0);
    await using again = await ServerProcess.start({ dataDir });
    const d = new CollectionClient(again.url, "n");
    await eventually(
      async () => (await d.info("docs")).hot.state,
      (state) => state === "hot",
    );
    assert.deepEqual(await d.info("x"), { ...info, hot: { enabled: true, state: "hot" } });
    assert.equal(await d.count("docs", { term: { b: "w" } }), 2);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
