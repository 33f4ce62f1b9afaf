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

/** A misspelt field that is needed is both unknown and missing: the answer names what was sent. */
const misspelt: readonly [method: string, path: string, body: object, field: string, missing?: string][] = [
  ["POST", "/streams/s/partitions/0/records", { recordz: [{}] }, "recordz", "records"],
  ["POST", "/streams/s/records", { recordz: [{}] }, "recordz", "records"],
  ["POST", "/streams/s/partitions/0/records", { records: [{ headers: [{ kee: "a" }] }] }, "records[0].headers[0].kee"],
  ["POST", "/streams", { nme: "x", partitions: 2 }, "nme", "name"],
  ["PATCH", "/streams/s", { retenshun: null }, "retenshun", "retention"],
  ["POST", "/links", { name: "l", sauce: "s" }, "sauce", "source"],
  ["POST", "/links", { name: "l", source: "s", target: { kynd: "x" } }, "target.kynd", "target.kind"],
  ["POST", "/collections", { nam: "x", schema: {} }, "nam", "name"],
  ["POST", "/collections/c/documents", { opz: [] }, "opz", "ops"],
  ["POST", "/collections/c/documents/get", { idz: [1] }, "idz", "ids"],
  ["POST", "/collections/c/fields", { feelds: [] }, "feelds", "fields"],
  ["PUT", "/collections/c/hot", { enable: true }, "enable", "enabled"],
  ["POST", "/aliases", { aktions: [] }, "aktions", "actions"],
  ["POST", "/query", { frm: "c" }, "frm"],
  ["POST", "/sql", { querry: "select 1" }, "querry", "query"],
];
for (const [method, path, body, field, missing] of misspelt) {
  test(`${method} ${path} names the misspelt ${field}`, async () => {
    const answer = await ask(base + path, { method, body });
    assertError(answer, 400, "invalid_argument", field);
    if (missing !== undefined) assert.match(answer.json.message, new RegExp(`; ${missing} is required$`));
  });
}

for (const [method, path, body] of [
  ["POST", "/collections/c/scan", { x: 1 }],
  ["POST", "/collections/c/warm", { x: 1 }],
  ["GET", "/streams?x=1", undefined],
  ["GET", "/links?x=1", undefined],
  ["DELETE", "/streams/s?x=1", undefined],
  ["DELETE", "/streams/s", { x: true }],
] as const) {
  test(`${method} ${path} takes nothing that it does not know`, async () => {
    const answer = await ask(base + path, { method, ...(body === undefined ? {} : { body }) });
    assertError(answer, 400, "invalid_argument", "x");
  });
}

test("a request whose body has no field that is needed may leave it out", async () => {
  for (const [path, status] of [
    ["/collections/c/scan", 200],
    ["/collections/c/warm", 202],
    ["/collections/c/documents/count", 200],
  ] as const) {
    assert.equal((await ask(base + path, { method: "POST" })).status, status, path);
    assert.equal((await ask(base + path, { body: {} })).status, status, path);
    for (const body of [[], null]) assertError(await ask(base + path, { body }), 400, "invalid_argument", "body");
  }
});

test("every unknown field is named, though no more than a message holds", async () => {
  const several = await ask(`${base}/streams`, { body: { name: "x", a: 1, b: 2, c: 3 } });
  assertError(several, 400, "invalid_argument", "a");
  assert.equal(several.json.message, "a: unknown field, as are b, c");
  const unnamed = await ask(`${base}/collections/c/warm`, { body: { a: 1, "": 2 } });
  assert.equal(unnamed.json.message, 'a: unknown field, as is ""');
  for (const path of ["/streams/s", "/links/l", "/collections/c"]) {
    const dropped = await ask(base + path, { method: "DELETE", body: { a: 1, b: 2, c: 3 } });
    assertError(dropped, 400, "invalid_argument", "a");
    assert.equal(dropped.json.message, "a: unknown field, as are b, c");
  }
  const odd = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${"k".repeat(10_000)}${i}`, i]));
  const many = await ask(`${base}/streams`, { body: { ...odd, name: "x" } });
  assertError(many, 400, "invalid_argument");
  assert.ok(many.text.length < 8_000, `${many.text.length} characters`);
  const asked = await ask(`${base}/streams/s/partitions/0/records?offset=0&ofset=1&max=2`);
  assertError(asked, 400, "invalid_argument", "ofset");
  assert.equal(asked.json.message, "ofset: unknown query parameter, as is max");
});

for (const [record, field, message] of [
  [{ timestamp_ms: "5" }, "records[0].timestamp_ms", "must be integer"],
  [{ key: 5 }, "records[0].key", "must be string"],
  [{ headers: {} }, "records[0].headers", "must be array"],
  [{ "": 5 }, 'records[0].""', "unknown field"],
  [{ headers: [{ key: "a\ud800" }] }, "records[0].headers[0].key", "has an unpaired surrogate"],
] as const) {
  test(`a record ${JSON.stringify(record)} is refused: ${field} ${message}`, async () => {
    for (const path of ["/streams/s/partitions/0/records", "/streams/s/records"]) {
      const answer = await ask(base + path, { body: { records: [record] } });
      assertError(answer, 400, "invalid_argument", field);
      assert.equal(answer.json.message, `${field}: ${message}`);
    }
  });
}

for (const [path, bodyOf, field] of [
  ["/sql", (deep: string) => `{"query":"select $1 as a","params":[${deep}]}`, "params[0]"],
  ["/links", (deep: string) => `{"name":"d","source":"s","target":{"kind":"x"},"options":{"o":${deep}}}`, "options"],
] as const) {
  test(`${field} of ${path} that nest too deep are no bug of ours`, async () => {
    for (const depth of [100, 100_000]) {
      const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
      assertError(await ask(base + path, { body: bodyOf(deep) }), 400, "invalid_argument", field);
    }
  });
}

test("a list that must not be empty is told so", async () => {
  const answer = await ask(`${base}/streams/s/partitions/0/records`, { body: { records: [] } });
  assertError(answer, 400, "invalid_argument", "records");
  assert.equal(answer.json.message, "records: must not be empty");
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

test("a path that names a route is that route's, and not a document's", async () => {
  for (const name of ["get", "scroll", "count", "delete_by_filter", "patch_by_filter"]) {
    const answer = await ask(`${base}/collections/c/documents/${name}`);
    assertError(answer, 405, "invalid_argument");
    assert.equal(answer.headers.get("allow"), "POST");
  }
  assertError(await ask(`${base}/collections/c/documents/got`), 400, "invalid_argument", "id");
});

test("an unknown field with an empty name is named over RPC too", async () => {
  const body = { "": "x", collection: "c" };
  const answer = await ask(`${server.url}/service.collection.v1.CollectionService/Scan`, { body });
  assert.equal(answer.json.details[0].debug.metadata.field, '""');
});

test("a content type of an event does not end in a space, which its header would lose", async () => {
  const event = { specversion: "1.0", id: "2", source: "/s", type: "t", datacontenttype: "text/plain ", data: "x" };
  const headers = { "content-type": "application/cloudevents+json" };
  const answer = await ask(`${base}/streams/s/events`, { body: event, headers });
  assertError(answer, 400, "invalid_argument", "datacontenttype");
});

for (const open of ['{"not":', '{"and":[']) {
  test(`a filter of 20,000 ${open} is refused`, async () => {
    const close = open.endsWith("[") ? "]}" : "}";
    const filter = `${open.repeat(20_000)}{"match_all":{}}${close.repeat(20_000)}`;
    for (const body of [
      `{"from":"c","filter":${filter}}`,
      `{"from":"c","retrieve":[{"text":{"field":"t","query":"x","filter":${filter}}}]}`,
      `{"queries":[{"from":"c","filter":${filter}}]}`,
    ]) {
      const answer = await ask(`${base}/query`, {
        body: Buffer.from(body),
        headers: { "content-type": "application/json" },
      });
      assertError(answer, 400, "invalid_argument");
    }
  });
}
