import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let client: StreamClient;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
  await client.createStream("ten");
  await client.append("ten", ["0", "1", "2", "3"]);
  await client.append("ten", ["4"]);
  await client.append("ten", ["5", "6", "7", "8", "9"]);
  await client.createStream("empty");
});
after(() => server[Symbol.asyncDispose]());

for (let offset = 0; offset <= 10; offset++) {
  test(`a fetch at offset ${offset} of 10 starts there, in the middle of a batch too`, async () => {
    const { status, json } = await client.fetch("ten", `offset=${offset}`);
    assert.equal(status, 200);
    assert.deepEqual(
      json.records.map((record: { offset: number }) => record.offset),
      Array.from({ length: 10 - offset }, (_, i) => offset + i),
    );
    for (const record of json.records) assert.equal(record.value, base64(String(record.offset)));
    const { records: _, ...marks } = json;
    assert.deepEqual(marks, { next_offset: 10, high_watermark: 10, log_start_offset: 0 });
  });
}

for (const [stream, offset, high] of [
  ["ten", 11, 10],
  ["ten", 9_007_199_254_740_991, 10],
  ["empty", 1, 0],
] as const) {
  test(`offset ${offset} of ${high} is 416 with the range`, async () => {
    const answer = await client.fetch(stream, `offset=${offset}`);
    assertError(answer, 416, "offset_out_of_range");
    const { error: _, message: __, ...rest } = answer.json;
    assert.deepEqual(rest, { offset, log_start_offset: 0, high_watermark: high });
  });
}

for (const [query, field] of [
  ["", "offset"],
  ["max_bytes=5", "offset"],
  ["offset=", "offset"],
  ["offset=-1", "offset"],
  ["offset=1.5", "offset"],
  ["offset=1.0", "offset"],
  ["offset=1e0", "offset"],
  ["offset=0x1", "offset"],
  ["offset=%201", "offset"],
  ["offset=x", "offset"],
  ["offset=9007199254740992", "offset"],
  ["offset=0&offset=1", "offset"],
  ["offset=0&max_bytes=-1", "max_bytes"],
  ["offset=0&max_bytes=1.5", "max_bytes"],
  ["offset=0&max_bytes=many", "max_bytes"],
  ["offset=0&max_bytes=", "max_bytes"],
  ["offset=0&max_wait_ms=-1", "max_wait_ms"],
  ["offset=0&max_wait_ms=0.5", "max_wait_ms"],
  ["offset=0&max_wait_ms=1s", "max_wait_ms"],
  ["offset=0&timestamp_ms=0", "timestamp_ms"],
  ["timestamp_ms=-1", "timestamp_ms"],
  ["timestamp_ms=now", "timestamp_ms"],
  ["offset=0&limit=5", "limit"],
] as const) {
  test(`?${query} is 400 naming ${field}`, async () => {
    assertError(await client.fetch("ten", query), 400, "invalid_argument", field);
  });
}

test("limits above their caps are lowered to them", async () => {
  for (const query of [
    "offset=0&max_bytes=16777217&max_wait_ms=60001",
    "offset=0&max_bytes=99999999999999999999&max_wait_ms=99999999999999999999",
  ]) {
    assert.equal((await client.fetch("ten", query)).json.records.length, 10);
  }
});

for (const maxBytes of [0, 1, 100, 300, 1000, 5_000, 100_000, 1_048_576, 2_500_000]) {
  test(`max_bytes=${maxBytes} bounds the answer, and pages meet without a gap`, async () => {
    const stream = `paged-${maxBytes}`;
    await client.createStream(stream);
    const value = "v".repeat(Math.max(3, Math.floor(maxBytes / 7)));
    const records = Array.from({ length: 23 }, (_, i) => ({
      value: base64(value.slice(0, (i * 31) % value.length)),
      headers: i % 3 === 0 ? [{ key: "ünïcode", value: "" }] : [],
    }));
    for (let i = 0; i < records.length; i += 4) {
      const done = await ask(client.recordsUrl(stream), { body: { records: records.slice(i, i + 4) } });
      assert.equal(done.status, 200);
    }
    let next = 0;
    while (next < records.length) {
      const { text, json } = await client.fetch(stream, `offset=${next}&max_bytes=${maxBytes}`);
      assert.ok(json.records.length >= 1);
      assert.ok(Buffer.byteLength(text) <= maxBytes || json.records.length === 1, `${text.length} bytes`);
      for (const record of json.records) {
        assert.equal(record.offset, next);
        assert.equal(record.value, records[next]!.value);
        next++;
      }
      assert.equal(json.next_offset, next);
    }
  });
}

test("the default of max_bytes is 1 MiB and its cap 16 MiB; one record over it still comes", async () => {
  await client.createStream("heavy");
  const value = Buffer.alloc(700_000).toString("base64");
  for (let i = 0; i < 6; i++) {
    const done = await ask(client.recordsUrl("heavy"), { body: { records: [{ value }, { value }, { value }] } });
    assert.equal(done.status, 200);
  }
  const sizes = async (query: string) => {
    const { text, json } = await client.fetch("heavy", `offset=0${query}`);
    return { bytes: text.length, records: json.records.length as number };
  };
  assert.equal((await sizes("")).records, 1);
  assert.equal((await sizes("&max_bytes=900000")).records, 1);
  assert.equal((await sizes("&max_bytes=2000000")).records, 2);
  const capped = await sizes("&max_bytes=50000000");
  assert.ok(capped.bytes <= 16 * 1024 * 1024);
  assert.equal(capped.records, 17);
});

test("a long poll is woken by an append to its partition, and by that only", async () => {
  await client.createStream("polled", { partitions: 2 });
  await client.append("polled", ["first"]);
  const polls = Array.from({ length: 5 }, () => client.fetch("polled", "offset=1&max_wait_ms=60000"));
  let answered = 0;
  for (const poll of polls) void poll.then(() => answered++);
  await client.append("polled", ["other"], 1);
  assert.equal(answered, 0);
  await client.append("polled", ["second"]);
  for (const { json } of await Promise.all(polls)) {
    assert.equal(json.records[0].value, base64("second"));
    assert.equal(json.next_offset, 2);
  }
});

test("a long poll that sees nothing answers an empty page; one with records does not wait", async () => {
  const { status, json } = await client.fetch("empty", "offset=0&max_wait_ms=300");
  assert.equal(status, 200);
  assert.deepEqual(json, { records: [], next_offset: 0, high_watermark: 0, log_start_offset: 0 });
  assert.equal((await client.fetch("ten", "offset=9&max_wait_ms=60000")).json.records.length, 1);
  assertError(await client.fetch("ten", "offset=11&max_wait_ms=60000"), 416, "offset_out_of_range");
});

test("a long poll on a stream that is dropped answers 404 at once", { timeout: 50_000 }, async () => {
  await client.createStream("doomed");
  const poll = client.fetch("doomed", "offset=0&max_wait_ms=60000");
  await ask(client.streamUrl("doomed"), { method: "DELETE" });
  assertError(await poll, 404, "not_found");
});

test("timestamp_ms starts at the first record at or after it", async () => {
  await client.createStream("timed");
  for (const times of [[100, 300], [200], [250, 150, 500], [400]]) {
    const records = times.map((timestamp_ms) => ({ timestamp_ms }));
    assert.equal((await ask(client.recordsUrl("timed"), { body: { records } })).status, 200);
  }
  // Times by offset: 100 300 200 250 150 500 400.
  for (const [at, offset] of [
    [0, 0],
    [100, 0],
    [101, 1],
    [300, 1],
    [301, 5],
    [500, 5],
    [501, 7],
    [8_640_000_000_000_000, 7],
  ] as const) {
    const { status, json } = await client.fetch("timed", `timestamp_ms=${at}`);
    assert.equal(status, 200);
    assert.deepEqual([at, json.records[0]?.offset ?? json.next_offset], [at, offset]);
  }
  assert.equal((await client.fetch("empty", "timestamp_ms=5")).json.next_offset, 0);
});

test("a long poll from a time waits for a record of that time, not for an earlier one", {
  timeout: 50_000,
}, async () => {
  await client.createStream("awaited");
  const append = (timestamp_ms: number) => ask(client.recordsUrl("awaited"), { body: { records: [{ timestamp_ms }] } });
  const poll = client.fetch("awaited", "timestamp_ms=20&max_wait_ms=60000");
  for (const timestamp_ms of [5, 10, 20]) assert.equal((await append(timestamp_ms)).status, 200);
  const { json } = await poll;
  assert.deepEqual(
    json.records.map((record: { offset: number }) => record.offset),
    [2],
  );
  assert.deepEqual([json.next_offset, json.high_watermark], [3, 3]);
  const late = await client.fetch("awaited", "timestamp_ms=30&max_wait_ms=50");
  assert.deepEqual([late.json.records, late.json.next_offset], [[], 3]);
});
