import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError } from "../support/streams.ts";

/** What the fuzzers of test/fuzz have found, one by one. */

let server: ServerProcess;
let base: string;
before(async () => {
  server = await ServerProcess.start();
  base = `${server.url}/v1/namespaces/n`;
  await ask(`${server.url}/v1/namespaces`, { body: { name: "n" } });
  await ask(`${base}/streams`, { body: { name: "s" } });
  await ask(`${base}/collections`, { body: { name: "c", schema: { fields: [{ name: "t", kind: "keyword" }] } } });
});
after(() => server[Symbol.asyncDispose]());

const packed = gzipSync('{"records":[{"value":"aGk="}]}');

for (const [path, type] of [
  ["/streams/s/partitions/0/records", "application/json"],
  ["/streams/s/records", "application/json"],
  ["/streams/s/events", "application/cloudevents+json"],
  ["/streams/s/events", "text/plain"],
  ["/query", "application/json"],
  ["/sql", "application/json"],
  ["/collections/c/documents", "application/json"],
] as const) {
  test(`a compressed body for ${path} as ${type} is refused`, async () => {
    const headers = { "content-type": type, "content-encoding": "gzip", "ce-id": "1" };
    const answer = await ask(base + path, { body: packed, headers });
    assertError(answer, 415, "unsupported_media_type", "content-encoding");
  });
}

test("a body that is as it is may say so", async () => {
  const headers = { "content-encoding": "identity" };
  const answer = await ask(`${base}/streams/s/partitions/0/records`, { body: { records: [{}] }, headers });
  assert.equal(answer.status, 200, answer.text);
});

test("a field with an empty name is named", async () => {
  for (const path of ["/query", "/collections/c/documents/count", "/collections/c/documents/scroll"]) {
    const answer = await ask(base + path, { body: { "": 1 } });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.field, '""');
    assert.match(answer.json.message, /^"": unknown field/);
  }
  const event = { specversion: "1.0", id: "1", source: "/s", type: "t", "": "x" };
  const headers = { "content-type": "application/cloudevents+json" };
  assertError(await ask(`${base}/streams/s/events`, { body: event, headers }), 400, "invalid_argument", '""');
});

test("the choices of a field are told without the one that stands for none", async () => {
  const answer = await ask(`${base}/collections/c/documents/count`, { body: { consistency: "weak" } });
  assertError(answer, 400, "invalid_argument", "consistency");
  assert.equal(answer.json.message, "consistency: must be one of strong, eventual");
});

test("events in no mode name the header at fault", async () => {
  const answer = await ask(`${base}/streams/s/events`, { body: {} });
  assertError(answer, 415, "unsupported_media_type", "content-type");
});

test("a number that is too large for SQL is no bug of ours", async () => {
  const answer = await ask(`${base}/sql`, { body: { query: "select 1e309 as big, 'Infinity' as word" } });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.rows[0].word, "Infinity");
});

test("an RPC in JSON that is no UTF-8 is refused", async () => {
  const body = Buffer.from('{"name":"a\xff"}', "latin1");
  const answer = await ask(`${server.url}/service.collection.v1.NamespaceService/CreateNamespace`, { body });
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.json.code, "invalid_argument");
  assert.equal(answer.json.details[0].debug.metadata.field, "body");
});
