import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, eventually, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let client: StreamClient;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
});
after(() => server[Symbol.asyncDispose]());

interface Marks {
  readonly log_start_offset: number;
  readonly high_watermark: number;
}

async function marks(stream: string): Promise<Marks> {
  return (await ask(client.streamUrl(stream))).json.partitions[0];
}

const kilobyte = "x".repeat(1000);

test("max_bytes: the start rises with appends, and below it a fetch is 416", async () => {
  await client.createStream("bytes", { retention: { max_bytes: 10_000 } });
  for (let i = 0; i < 30; i++) await client.append("bytes", [kilobyte]);
  const { log_start_offset: start, high_watermark } = await marks("bytes");
  assert.equal(high_watermark, 30);
  // Each batch is 1,000 bytes and what frames them.
  assert.ok(start >= 20 && start <= 23, `starts at ${start}`);
  const below = await client.fetch("bytes", `offset=${start - 1}`);
  assertError(below, 416, "offset_out_of_range");
  const { error: _, message: __, ...rest } = below.json;
  assert.deepEqual(rest, { offset: start - 1, log_start_offset: start, high_watermark: 30 });
  const page = (await client.fetch("bytes", `offset=${start}`)).json;
  assert.equal(page.records.length, 30 - start);
  assert.equal(page.log_start_offset, start);
});

test("max_bytes keeps the newest batch, even one larger than it", async () => {
  await client.createStream("small", { retention: { max_bytes: 1 } });
  await client.append("small", [kilobyte]);
  await client.append("small", [kilobyte, kilobyte]);
  assert.deepEqual(await marks("small"), { partition: 0, log_start_offset: 1, high_watermark: 3 });
  assert.equal((await client.values("small", 1)).length, 2);
});

test("max_bytes counts each partition by itself", async () => {
  await client.createStream("apart", { partitions: 2, retention: { max_bytes: 10_000 } });
  await client.append("apart", [kilobyte], 1);
  for (let i = 0; i < 20; i++) await client.append("apart", [kilobyte], 0);
  const { partitions } = (await ask(client.streamUrl("apart"))).json;
  assert.ok(partitions[0].log_start_offset > 0);
  assert.equal(partitions[1].log_start_offset, 0);
});

test("max_age_ms: records leave when they are too old, and offsets go on", async () => {
  await client.createStream("aged", { retention: { max_age_ms: 400 } });
  await client.append("aged", ["a", "b"]);
  assert.equal((await marks("aged")).high_watermark, 2);
  await eventually(
    () => marks("aged"),
    (seen) => seen.log_start_offset === 2,
  );
  assertError(await client.fetch("aged", "offset=1"), 416, "offset_out_of_range");
  assert.deepEqual((await client.fetch("aged", "offset=2")).json.records, []);
  assert.equal((await client.append("aged", ["c"])).json.base_offset, 2);
});

test("max_age_ms goes by the record's own time, and a time to come keeps nothing longer", async () => {
  await client.createStream("dated", { retention: { max_age_ms: 3_600_000 } });
  const old = { timestamp_ms: Date.now() - 7_200_000 };
  await ask(client.recordsUrl("dated"), { body: { records: [old, old] } });
  assert.deepEqual(await marks("dated"), { partition: 0, log_start_offset: 2, high_watermark: 2 });
  await client.append("dated", ["now"]);
  assert.deepEqual(await marks("dated"), { partition: 0, log_start_offset: 2, high_watermark: 3 });
  await client.createStream("future", { retention: { max_age_ms: 200 } });
  await ask(client.recordsUrl("future"), { body: { records: [{ timestamp_ms: Date.now() + 1e9 }] } });
  await eventually(
    () => marks("future"),
    (seen) => seen.log_start_offset === 1,
  );
});

test("a retention set later trims at once; what it gave up does not come back when it is lifted", async () => {
  await client.createStream("patched");
  for (let i = 0; i < 10; i++) await client.append("patched", [kilobyte]);
  const shorter = await ask(client.streamUrl("patched"), {
    method: "PATCH",
    body: { retention: { max_bytes: 5_000 } },
  });
  const { log_start_offset: start } = shorter.json.partitions[0];
  assert.ok(start >= 5 && start < 10);
  const lifted = await ask(client.streamUrl("patched"), { method: "PATCH", body: { retention: null } });
  assert.deepEqual(lifted.json.retention, { max_age_ms: null, max_bytes: null });
  assert.equal(lifted.json.partitions[0].log_start_offset, start);
  assertError(await client.fetch("patched", `offset=${start - 1}`), 416, "offset_out_of_range");
});

test("timestamp_ms seeks among what is kept", async () => {
  await client.createStream("sought", { retention: { max_bytes: 3_000 } });
  for (let i = 1; i <= 10; i++) {
    const record = { value: base64(kilobyte), timestamp_ms: i * 100 };
    await ask(client.recordsUrl("sought"), { body: { records: [record] } });
  }
  const { log_start_offset: start } = await marks("sought");
  assert.equal((await client.fetch("sought", "timestamp_ms=0")).json.records[0].offset, start);
  assert.equal((await client.fetch("sought", "timestamp_ms=950")).json.records[0].offset, 9);
});

test("a record of a time far ahead that was trimmed does not keep later ones from being found", async () => {
  await client.createStream("ahead", { retention: { max_bytes: 3_000 } });
  for (const timestamp_ms of [Number.MAX_SAFE_INTEGER, 100, 200, 300, 400, 500, 600]) {
    await ask(client.recordsUrl("ahead"), { body: { records: [{ value: base64(kilobyte), timestamp_ms }] } });
  }
  const { log_start_offset: start } = await marks("ahead");
  assert.ok(start > 0 && start < 6);
  assert.equal((await client.fetch("ahead", "timestamp_ms=501")).json.records[0].offset, 6);
  assert.deepEqual((await client.fetch("ahead", "timestamp_ms=601")).json.records, []);
});
