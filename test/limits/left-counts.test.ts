import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CollectionClient } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/** Takes minutes to evaluate. */
const hopeless = {
  or: Array.from({ length: 5_000 }, (_, i) => ({ wildcard: { k: `*a*b*c*d*${i}*` } })),
};

for (const [path, body] of [
  ["documents/count", { filter: hopeless }],
  ["documents/scroll", { filter: hopeless, limit: 1 }],
] as const) {
  test(`${path} ends with its caller, and holds up no seal`, async (t) => {
    const server = await ServerProcess.start();
    t.after(() => server.stop());
    const client = await CollectionClient.create(server.url, "n");
    const schema = { fields: [{ name: "k", kind: "keyword" }] };
    for (const name of ["slow", "other"]) await client.made(name, schema);
    const long = Array.from({ length: 400 }, (_, i) => `${"abcde".repeat(6_400)}${i}`);
    await client.written("slow", [{ upsert: { id: 1, source: { k: long } } }]);
    const left = fetch(`${client.url}/collections/slow/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
      signal: AbortSignal.timeout(500),
    });
    await assert.rejects(left, /aborted due to timeout/);
    await client.written(
      "other",
      Array.from({ length: 100 }, (_, id) => ({ upsert: { id, source: { k: "x" } } })),
    );
    for (const deadlineMs = performance.now() + 30_000; ; await sleep(200)) {
      const { json } = await ask(`${client.url}/collections/other`);
      if (json.manifest.version > 0) break;
      assert.ok(performance.now() < deadlineMs, "the other collection is not sealed");
    }
    const before = (await ask(`${client.url}/collections/slow/documents/count`, { body: {} })).json;
    assert.equal(before.count, 1);
  });
}
