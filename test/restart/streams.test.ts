import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { eventually, StreamClient } from "../support/streams.ts";

test("a batch near the body's limit is taken whole, and is there after a kill", async () => {
  await using own = await ServerProcess.start();
  const writer = await StreamClient.create(own.url, "n");
  await writer.createStream("large");
  const value = Buffer.alloc(3 * 1024 * 1024, "x").toString("base64");
  const records = Array.from({ length: 3 }, (_, i) => ({ key: base64(String(i)), value }));
  const body = JSON.stringify({ records });
  const full = body + " ".repeat(16 * 1024 * 1024 - body.length);
  const done = await ask(writer.recordsUrl("large"), { body: full });
  assert.equal(done.status, 200, done.text);
  assert.equal(done.json.last_offset, 2);
  await own.kill();
  await using again = await ServerProcess.start({ dataDir: own.dataDir });
  const url = `${again.url}/v1/namespaces/n/streams/large/partitions/0/records`;
  const page = await ask(`${url}?offset=0&max_bytes=16777216`);
  assert.deepEqual(
    page.json.records.map(({ offset, key }: { offset: number; key: string }) => [offset, key]),
    records.map(({ key }, offset) => [offset, key]),
  );
  for (const record of page.json.records) assert.equal(record.value, value);
});

test("names, ids and records outlive a restart", async () => {
  await using first = await ServerProcess.start();
  const before = await StreamClient.create(first.url, "kept");
  const id = await before.createStream("s", { partitions: 2, retention: { max_bytes: 1_000_000 } });
  await before.append("s", ["a", "b"], 1);
  const detail = (await ask(before.streamUrl("s"))).json;
  assert.equal(await first.stop(), 0);
  await using second = await ServerProcess.start({ dataDir: first.dataDir });
  const url = `${second.url}/v1/namespaces/kept/streams`;
  assert.deepEqual((await ask(`${url}/s`)).json, detail);
  const next = await ask(`${url}/s/partitions/1/records`, { body: { records: [{}] } });
  assert.equal(next.json.base_offset, 2);
  assert.ok((await ask(url, { body: { name: "t" } })).json.id > id);
});

interface Marks {
  readonly log_start_offset: number;
  readonly high_watermark: number;
}

const kilobyte = "x".repeat(1000);

test("the start, and an emptied partition's end, are the same after a restart", async () => {
  await using first = await ServerProcess.start();
  const writer = await StreamClient.create(first.url, "n");
  await writer.createStream("b", { retention: { max_bytes: 5_000 } });
  await writer.createStream("a", { retention: { max_age_ms: 100 } });
  for (let i = 0; i < 20; i++) await writer.append("b", [kilobyte]);
  await writer.append("a", ["x", "y", "z"]);
  const detail = async (url: string, stream: string) => {
    const { json } = await ask(`${url}/v1/namespaces/n/streams/${stream}`);
    return json.partitions[0] as Marks;
  };
  const aged = await eventually(
    () => detail(first.url, "a"),
    (seen) => seen.log_start_offset === 3,
  );
  const bytes = await detail(first.url, "b");
  await first.stop();
  await using second = await ServerProcess.start({ dataDir: first.dataDir });
  assert.deepEqual(await detail(second.url, "a"), aged);
  assert.deepEqual(await detail(second.url, "b"), bytes);
  const next = await ask(`${second.url}/v1/namespaces/n/streams/a/partitions/0/records`, { body: { records: [{}] } });
  assert.equal(next.json.base_offset, 3);
});

test("a write's token holds for the same data after a restart", { timeout: 50_000 }, async () => {
  await using first = await ServerProcess.start();
  const writer = await StreamClient.create(first.url, "n");
  await writer.createStream("s");
  const token = (await writer.append("s", ["a"])).headers.get("service-consistency-token")!;
  await first.kill();
  await using second = await ServerProcess.start({ dataDir: first.dataDir });
  const url = `${second.url}/v1/namespaces/n/streams/s/partitions/0/records?offset=0`;
  const page = await ask(url, { headers: { "service-consistency-token": token } });
  assert.equal(page.json.records.length, 1);
});
