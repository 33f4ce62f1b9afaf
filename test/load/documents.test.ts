import assert from "node:assert/strict";
import { test } from "node:test";
import { CollectionClient, collectionsServer, numbers, tagged, upserts } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, eventually } from "../support/streams.ts";

const { server, collection } = collectionsServer("200ms");

test("a tail over its limit answers 429 until the index has caught up, and nothing is lost", async () => {
  await using small = await ServerProcess.start({
    flags: ["--collection-tail-records-max", "10", "--collection-seal-idle", "1500ms"],
  });
  const c = await CollectionClient.create(small.url, "n");
  await c.made("docs", tagged);
  const filled = await c.written(
    "docs",
    upserts(numbers(0, 12), () => ({ tag: "a" })),
  );
  assert.deepEqual([filled.json.backlog.records, filled.json.backlog.throttled], [12, true]);
  const info = await c.info("docs");
  assert.equal(info.backpressure.throttled, true);
  assert.ok(info.backpressure.retry_after_ms > 0);
  const refused = await c.write(
    "docs",
    upserts([99], () => ({ tag: "b" })),
  );
  assertError(refused, 429, "resource_exhausted");
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  assert.equal(await c.count("docs", { term: { tag: "a" } }), 12, "reads go on");
  await eventually(
    () =>
      c.write(
        "docs",
        upserts([99], () => ({ tag: "b" })),
      ),
    ({ status }) => status === 200,
  );
  assert.equal(await c.count("docs"), 13);
  await using bytes = await ServerProcess.start({ flags: ["--collection-tail-bytes-max", "1000"] });
  const d = await CollectionClient.create(bytes.url, "n");
  await d.made("docs", {});
  await d.written(
    "docs",
    upserts([1], () => ({ pad: "x".repeat(2000) })),
  );
  assertError(
    await d.write(
      "docs",
      upserts([2], () => ({})),
    ),
    429,
    "resource_exhausted",
  );
});

test("a batch of ten thousand operations is one atomic write", async () => {
  const c = await collection(tagged);
  const ops = upserts(numbers(0, 10_000), (id) => ({ tag: `t${id % 7}`, n: id }));
  const written = await c.written("docs", ops);
  assert.equal(written.json.results.length, 10_000);
  assert.equal(await c.count("docs", { term: { tag: "t3" } }), 1429);
  const many = await c.post("docs", "get", { ids: numbers(0, 10_000).toReversed() });
  assert.deepEqual(many.json.documents[0].source, { tag: "t3", n: 9999 });
  const page = await c.post("docs", "scroll", { limit: 10_000 });
  assert.deepEqual([page.json.documents.length, page.json.next_cursor], [10_000, null]);
  assertError(await c.write("docs", [...ops, ...ops]), 400, "invalid_argument", "ops");
  const bad = [...ops.slice(0, 9_999), { upsert: { id: 20_000, source: { n: "x" } } }];
  assertError(await c.write("docs", bad), 400, "invalid_argument", "ops[9999].upsert.source.n");
  assert.equal(await c.count("docs"), 10_000);
  assert.equal((await ask(`${server().url}/ready`)).status, 200);
});
