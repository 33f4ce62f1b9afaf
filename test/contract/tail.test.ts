import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";
import { Tail } from "../support/tail.ts";

let server: ServerProcess;
let client: StreamClient;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
});
after(() => server[Symbol.asyncDispose]());

test("a tail sends what is there and then what is appended, one event a record", { timeout: 50_000 }, async () => {
  await client.createStream("live");
  await client.append("live", ["a", "b"]);
  await using tail = await Tail.open(`${client.recordsUrl("live")}?offset=1`);
  assert.equal(tail.response.status, 200);
  assert.match(tail.response.headers.get("content-type") ?? "", /^text\/event-stream/);
  assert.notEqual(tail.response.headers.get("x-request-id"), null);
  assert.deepEqual(await tail.take(1), [{ id: "2", value: "b" }]);
  await client.append("live", ["c"]);
  await client.append("live", ["d", "e"]);
  assert.deepEqual(await tail.take(3), [
    { id: "3", value: "c" },
    { id: "4", value: "d" },
    { id: "5", value: "e" },
  ]);
});

test("an event's data is the record as a fetch shows it", { timeout: 50_000 }, async () => {
  await client.createStream("shown");
  const record = { key: base64("k"), value: base64("v"), headers: [{ key: "h", value: "" }], timestamp_ms: 5 };
  await ask(client.recordsUrl("shown"), { body: { records: [record] } });
  await using tail = await Tail.open(`${client.recordsUrl("shown")}?offset=0`);
  const event = await tail.next();
  assert.deepEqual(JSON.parse(event!.data!), (await client.fetch("shown", "offset=0")).json.records[0]);
});

test("Last-Event-ID resumes where the last event ended, over the offset of the URL", { timeout: 50_000 }, async () => {
  await client.createStream("resumed");
  await client.append("resumed", ["a", "b", "c"]);
  await using first = await Tail.open(`${client.recordsUrl("resumed")}?offset=0`);
  const [, last] = await first.take(2);
  for (const query of ["?offset=0", ""]) {
    await using second = await Tail.open(client.recordsUrl("resumed") + query, { "last-event-id": last!.id });
    assert.deepEqual(await second.take(1), [{ id: "3", value: "c" }]);
  }
});

test("a tail reads many large records in order", { timeout: 50_000 }, async () => {
  await client.createStream("long");
  const values = Array.from({ length: 40 }, (_, i) => `${i}:${"x".repeat(50_000)}`);
  for (let i = 0; i < values.length; i += 10) await client.append("long", values.slice(i, i + 10));
  await using tail = await Tail.open(`${client.recordsUrl("long")}?offset=0`);
  const taken = await tail.take(values.length);
  assert.deepEqual(
    taken.map(({ value }) => value),
    values,
  );
});

test("timestamp_ms starts a tail at a time", { timeout: 50_000 }, async () => {
  await client.createStream("timed");
  const records = [1, 2, 3].map((timestamp_ms) => ({ value: base64(String(timestamp_ms)), timestamp_ms }));
  await ask(client.recordsUrl("timed"), { body: { records } });
  await using tail = await Tail.open(`${client.recordsUrl("timed")}?timestamp_ms=2`);
  assert.deepEqual(await tail.take(1), [{ id: "2", value: "2" }]);
});

test("a tail from a time that is still to come leaves out what is earlier", { timeout: 50_000 }, async () => {
  await client.createStream("ahead");
  await using tail = await Tail.open(`${client.recordsUrl("ahead")}?timestamp_ms=20`);
  for (const timestamp_ms of [5, 10, 20, 7]) {
    const records = [{ value: base64(String(timestamp_ms)), timestamp_ms }];
    assert.equal((await ask(client.recordsUrl("ahead"), { body: { records } })).status, 200);
  }
  assert.deepEqual(await tail.take(2), [
    { id: "3", value: "20" },
    { id: "4", value: "7" },
  ]);
});

test("HEAD of a tail answers its headers and ends", { timeout: 50_000 }, async () => {
  await client.createStream("headed");
  await client.append("headed", ["a"]);
  const headers = { accept: "text/event-stream" };
  const answer = await ask(`${client.recordsUrl("headed")}?offset=0`, { method: "HEAD", headers });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
  assert.equal((await ask(`${client.recordsUrl("headed")}?offset=9`, { method: "HEAD", headers })).status, 416);
});

for (const [query, headers, status, error] of [
  ["offset=9", {}, 416, "offset_out_of_range"],
  ["", {}, 400, "invalid_argument"],
  ["offset=x", {}, 400, "invalid_argument"],
  ["offset=0", { "last-event-id": "x" }, 400, "invalid_argument"],
  ["offset=0", { "last-event-id": "-1" }, 400, "invalid_argument"],
  ["offset=0", { "last-event-id": "7" }, 416, "offset_out_of_range"],
] as const) {
  test(`a tail of ?${query} ${JSON.stringify(headers)} is ${status}, as an ordinary error`, async () => {
    await ask(`${client.url}/streams`, { body: { name: "refused" } });
    const url = `${client.recordsUrl("refused")}?${query}`;
    assertError(await ask(url, { headers: { accept: "text/event-stream", ...headers } }), status, error);
  });
}

test("a tail ends with an error event when its stream is dropped", { timeout: 50_000 }, async () => {
  await client.createStream("dropped");
  await client.append("dropped", ["a"]);
  await using tail = await Tail.open(`${client.recordsUrl("dropped")}?offset=0`);
  await tail.take(1);
  await ask(client.streamUrl("dropped"), { method: "DELETE" });
  const event = await tail.next();
  assert.equal(event?.event, "error");
  assert.equal(JSON.parse(event!.data!).error, "not_found");
  assert.equal(await tail.next(), undefined);
});

test("a tail does not go on with a stream that was made anew under its name", { timeout: 50_000 }, async () => {
  await client.createStream("replaced");
  const large = "x".repeat(1024 * 1024);
  for (let i = 0; i < 24; i++) await client.append("replaced", [large]);
  // Nobody reads, so that the tail waits until what it has written is taken.
  await using tail = await Tail.open(`${client.recordsUrl("replaced")}?offset=0`);
  await ask(client.streamUrl("replaced"), { method: "DELETE" });
  await client.createStream("replaced");
  for (let i = 0; i < 30; i++) await client.append("replaced", ["of another stream"]);
  let event = await tail.next();
  for (; event !== undefined && event.event === undefined; event = await tail.next()) {
    assert.equal(JSON.parse(event.data!).value.length > 1024 * 1024, true, "a record of the stream that was followed");
  }
  assert.equal(event?.event, "error");
  assert.equal(JSON.parse(event!.data!).error, "not_found");
});

test("a tail is asked for in letters of any case", { timeout: 50_000 }, async () => {
  await client.createStream("cased");
  await using tail = await Tail.open(`${client.recordsUrl("cased")}?offset=0`, { accept: "Text/Event-Stream" });
  assert.match(tail.response.headers.get("content-type") ?? "", /^text\/event-stream/);
});
