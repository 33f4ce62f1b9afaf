import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { CollectionClient, statuses, tagged, upserts } from "../support/collections.ts";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

test("an idempotency key replays the recorded results, over a restart too", async () => {
  const dataDir = await temporaryFolder();
  try {
    const first = await ServerProcess.start({ dataDir });
    const c = await CollectionClient.create(first.url, "n");
    await c.made("docs", tagged);
    const ops = upserts([1], () => ({ tag: "a" }));
    const key = { "idempotency-key": "k 1" };
    const written = await c.write("docs", ops, {}, key);
    assert.equal(written.headers.get("idempotency-replayed"), null);
    const inBody = await c.write("docs", ops, { idempotency_key: "k2" });
    assert.deepEqual([inBody.json.replayed, inBody.json.results[0].version], [false, 2]);
    const replays = async (client: CollectionClient) => {
      for (const [original, again] of [
        [written, await client.write("docs", ops, {}, key)],
        [inBody, await client.write("docs", ops, { idempotency_key: "k2" })],
      ] as const) {
        assert.equal(again.status, 200, again.text);
        assert.equal(again.headers.get("idempotency-replayed"), "true");
        assert.deepEqual(
          [again.json.replayed, again.json.results, again.json.token],
          [true, original.json.results, original.json.token],
        );
      }
      assertError(
        await client.write(
          "docs",
          upserts([2], () => ({})),
          {},
          key,
        ),
        409,
        "conflict",
      );
      assert.equal((await client.get("docs", 1)).json.version, 2);
    };
    await replays(c);
    assertError(await c.write("docs", ops, { idempotency_key: "" }), 400, "invalid_argument", "idempotency_key");
    const failed = { "idempotency-key": "failed" };
    assertError(await c.write("docs", [{ patch: { id: 9, source: {} } }], {}, failed), 404, "not_found");
    statuses(
      await c.write(
        "docs",
        upserts([3], () => ({})),
        {},
        failed,
      ),
    );
    assert.equal(await first.stop(), 0);
    await using again = await ServerProcess.start({ dataDir });
    await replays(new CollectionClient(again.url, "n"));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

function append(url: string, key: string, value: string, more: object = {}) {
  const body = { records: [{ value: base64(value) }], ...more };
  return ask(url, { body, headers: { "idempotency-key": key } });
}

test("keys outlive a stop and a kill", async () => {
  await using first = await ServerProcess.start();
  const writer = await StreamClient.create(first.url, "n");
  await writer.createStream("s");
  const path = new URL(writer.recordsUrl("s")).pathname;
  const replies = [await append(first.url + path, "k1", "a"), await append(first.url + path, "k2", "b")];
  await first.stop();
  await using second = await ServerProcess.start({ dataDir: first.dataDir });
  const again = await append(second.url + path, "k1", "a");
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.json, replies[0]!.json);
  const third = await append(second.url + path, "k3", "c");
  await second.kill();
  await using last = await ServerProcess.start({ dataDir: first.dataDir });
  assert.deepEqual((await append(last.url + path, "k3", "c")).json, third.json);
  assert.deepEqual((await append(last.url + path, "k2", "b")).json, replies[1]!.json);
  assertError(await append(last.url + path, "k2", "x"), 409, "conflict");
});
