import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let records: string;
before(async () => {
  server = await ServerProcess.start();
  const client = await StreamClient.create(server.url, "n");
  await client.createStream("s");
  records = `${server.url}/v1/namespaces/n/streams/s/partitions/0/records`;
});
after(() => server[Symbol.asyncDispose]());

interface Shown {
  readonly offset: number;
  readonly timestamp_ms: number;
}

async function append(format: string, given: readonly object[], headers: Record<string, string> = {}) {
  return await ask(`${records}?format=${format}`, { body: { records: given }, headers });
}

/** The records from an offset on, without what differs from run to run. */
async function read(format: string, offset: number): Promise<unknown[]> {
  const { status, json } = await ask(`${records}?offset=${offset}&format=${format}`);
  assert.equal(status, 200);
  return (json.records as Shown[]).map(({ offset: _, timestamp_ms: __, ...rest }) => rest);
}

async function appended(format: string, given: readonly object[]): Promise<number> {
  const { status, json, text } = await append(format, given);
  assert.equal(status, 200, text);
  return json.base_offset;
}

test("records go in and out as JSON", async () => {
  const given = [
    { key: "ada", value: { total: 12, tags: ["a", "ü"], none: null } },
    { key: "bob", value: "text", headers: [{ key: "h", value: "é" }] },
    { value: null },
    { key: "no value" },
    { value: 0.5 },
  ];
  const base = await appended("json", given);
  assert.deepEqual(await read("json", base), given);
  assert.deepEqual((await read("base64", base))[0], {
    key: base64("ada"),
    value: base64('{"total":12,"tags":["a","ü"],"none":null}'),
  });
});

test("records go in and out as text", async () => {
  const given = [
    { key: "ada", value: "ein Wörtchen\n" },
    { value: "", headers: [{ key: "h", value: "v" }, { key: "n" }] },
  ];
  const base = await appended("text", given);
  assert.deepEqual(await read("text", base), given);
  assert.deepEqual((await read("base64", base))[0], { key: base64("ada"), value: base64("ein Wörtchen\n") });
});

test("what is neither text nor JSON is shown as base64 and goes in so, too", async () => {
  const bytes = Buffer.from([0xff, 0x00, 0x80]).toString("base64");
  const given = { key_base64: bytes, value_base64: bytes, headers: [{ key: "h", value_base64: bytes }] };
  const base = await appended("json", [given]);
  assert.deepEqual(await read("json", base), [given]);
  assert.deepEqual(await read("text", base), [given]);
  const plain = await appended("text", [{ value: "{no json" }]);
  assert.deepEqual(await read("json", plain), [{ value_base64: base64("{no json") }]);
});

test("JSON is shown as it was written, on one line in a tail", async () => {
  const base = await appended("text", [{ value: '{"large": 12345678901234567890,\n "b": 1}' }]);
  const page = await ask(`${records}?offset=${base}&format=json`);
  assert.match(page.text, /"value":\{"large": 12345678901234567890, {2}"b": 1\}/);
  const controller = new AbortController();
  const response = await fetch(`${records}?offset=${base}&format=json`, {
    headers: { accept: "text/event-stream" },
    signal: controller.signal,
  });
  let heard = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    heard += chunk;
    if (heard.includes("\n\n")) break;
  }
  assert.match(
    heard,
    /^id: \d+\ndata: \{"offset":\d+,"timestamp_ms":\d+,"value":\{"large": 12345678901234567890, {2}"b": 1\}\}\n\n/,
  );
});

test("numbers of JSON values are kept as they are written", async () => {
  const values = ["12345678901234567890", '{"a":[0.12345678901234567890,1]}', "1.50", '"1e400"'];
  const body = `{"records":[${values.map((value) => `{"value":${value}}`).join(",")}]}`;
  const { status, json } = await ask(`${records}?format=json`, { body });
  assert.equal(status, 200);
  const page = await ask(`${records}?offset=${json.base_offset}&format=json`);
  for (const value of ["12345678901234567890", '{"a":[0.12345678901234567890,1]}', '"1e400"']) {
    assert.ok(page.text.includes(`"value":${value}`), page.text);
  }
});

test("a page of many records stays within its size and goes on", async () => {
  const given = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}`, value: { i, pad: "x".repeat(50) } }));
  let at = await appended("json", given);
  const found: unknown[] = [];
  while (found.length < given.length) {
    const { text, json } = await ask(`${records}?offset=${at}&format=json&max_bytes=4000`);
    assert.ok(text.length <= 4000, `${text.length}`);
    found.push(...(json.records as { value: { i: number } }[]).map(({ value }) => value.i));
    at = json.next_offset;
  }
  assert.deepEqual(
    found,
    given.map(({ value }) => value.i),
  );
});

test("records go to the partitions of their keys in the same formats", async () => {
  const url = `${server.url}/v1/namespaces/n/streams/s/records?format=json`;
  const { status, json } = await ask(url, { body: { records: [{ key: "ada", value: { a: 1 } }] } });
  assert.equal(status, 200);
  assert.deepEqual(await read("json", json.appends[0].base_offset), [{ key: "ada", value: { a: 1 } }]);
});

for (const [format, record, field] of [
  ["text", { value: 7 }, "records[0].value"],
  ["text", { key: {} }, "records[0].key"],
  ["json", { key: 7 }, "records[0].key"],
  ["json", { value: 1, value_base64: "AA==" }, "records[0].value"],
  ["json", { value_base64: "%" }, "records[0].value"],
  ["text", { value: "\ud800" }, "records[0].value"],
  ["text", { headers: [{ key: "h", value: 1 }] }, "records[0].headers[0].value"],
  ["base64", { value_base64: "AA==" }, "records[0].value_base64"],
  ["xml", { value: "AA==" }, "format"],
] as const) {
  test(`format=${format} refuses ${JSON.stringify(record)}`, async () => {
    assertError(await append(format, [record]), 400, "invalid_argument", field);
  });
}

test("the same key and body in another format is another write", async () => {
  const headers = { "idempotency-key": "once" };
  const record = [{ value: "AA==" }];
  assert.equal((await append("text", record, headers)).status, 200);
  const again = await append("text", record, headers);
  assert.equal(again.status, 200);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal((await append("json", record, headers)).status, 409);
});
