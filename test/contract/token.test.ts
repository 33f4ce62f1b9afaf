import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let client: StreamClient;
let id: number;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
  id = await client.createStream("s", { partitions: 2 });
  await client.append("s", ["a", "b"]);
});
after(() => server[Symbol.asyncDispose]());

function read(token: unknown, path = "/streams/s/partitions/0/records?offset=0") {
  const value = typeof token === "string" ? token : JSON.stringify(token);
  return ask(client.url + path, { headers: { "service-consistency-token": value } });
}

for (const [what, token] of [
  ["the token of a write", () => [{ stream: id, partition: 0, offset: 1 }]],
  ["an empty token", () => []],
  ["a token with spaces", () => ` [ { "offset" : 1, "stream" : ${id}, "partition" : 0 } ] `],
  ["a token of another stream", () => [{ stream: id + 1_000, partition: 0, offset: 9_007_199_254_740_991 }]],
  ["a token of another partition, for a read of one", () => [{ stream: id, partition: 1, offset: 5 }]],
] as const) {
  test(`${what} lets a read through at once`, { timeout: 50_000 }, async () => {
    assert.equal((await read(token())).json.records.length, 2);
  });
}

for (const token of [
  "x",
  "",
  "null",
  "{}",
  "5",
  "[",
  "[5]",
  "[null]",
  "[[]]",
  "[{}]",
  '[{"stream":1,"partition":0}]',
  '[{"stream":1,"partition":0,"offset":-1}]',
  '[{"stream":1,"partition":0,"offset":"1"}]',
  '[{"stream":1,"partition":0,"offset":1.5}]',
  '[{"stream":0,"partition":0,"offset":1}]',
  '[{"stream":1,"partition":-1,"offset":1}]',
  '[{"stream":1,"partition":0,"offset":9007199254740992}]',
  '[{"stream":1,"partition":0,"offset":1,"epoch":2}]',
]) {
  test(`the malformed token ${token} is 400`, async () => {
    for (const path of [undefined, "/streams/s"]) {
      const answer = await read(token, path);
      assertError(answer, 400, "invalid_argument");
      assert.match(answer.json.field, /^Service-Consistency-Token/);
      assert.match(answer.json.message, /^Service-Consistency-Token/);
    }
  });
}

test("a read waits for the write that its token names, and shows it", { timeout: 50_000 }, async () => {
  const waiting = await client.createStream("waiting");
  const token = [{ stream: waiting, partition: 0, offset: 1 }];
  const reads = [
    read(token, "/streams/waiting/partitions/0/records?offset=0"),
    read(token, "/streams/waiting"),
    read(token, "/streams/waiting/partitions/0/records?offset=2"),
  ];
  await client.append("waiting", ["a"]);
  await client.append("waiting", ["b"]);
  const [page, detail, end] = await Promise.all(reads);
  assert.equal(page!.json.records.length, 2);
  assert.equal(detail!.json.partitions[0].high_watermark, 2);
  assert.equal(end!.status, 200, "the range is checked after the wait");
});

test("an offset that does not come is 503 with Retry-After, after a wait", { timeout: 50_000 }, async () => {
  const token = [{ stream: id, partition: 0, offset: 2 }];
  const answers = await Promise.all([read(token), read(token, "/streams/s")]);
  for (const answer of answers) {
    assertError(answer, 503, "unavailable");
    assert.equal(answer.headers.get("retry-after"), "1");
  }
});

test("a read that waits for a token is told when its stream is dropped", { timeout: 50_000 }, async () => {
  const dropped = await client.createStream("dropped");
  const token = [{ stream: dropped, partition: 0, offset: 1 }];
  const reads = [read(token, "/streams/dropped/partitions/0/records?offset=0"), read(token, "/streams/dropped")];
  // One that comes to the server only after the drop finds no stream either.
  await client.append("dropped", ["a"]);
  await ask(client.streamUrl("dropped"), { method: "DELETE" });
  for (const answer of await Promise.all(reads)) assertError(answer, 404, "not_found");
});

/** What a token is checked for on every edge: reads that derive from a stream wait for it, lists only want it well-formed. */
const tokenReads: readonly [method: string, path: string, body: object | undefined, waits: boolean][] = [
  ["GET", "/v1/namespaces", undefined, false],
  ["GET", "/v1/namespaces/docs", undefined, false],
  ["GET", "/v1/namespaces/docs/streams", undefined, false],
  ["GET", "/v1/namespaces/docs/links", undefined, false],
  ["GET", "/v1/namespaces/docs/collections", undefined, false],
  ["GET", "/v1/namespaces/docs/aliases", undefined, false],
  ["GET", "/v1/namespaces/docs/collections/c/versions", undefined, true],
  ["GET", "/v1/namespaces/docs/collections/c", undefined, true],
  ["GET", "/v1/namespaces/docs/collections/c/documents/1", undefined, true],
  ["POST", "/v1/namespaces/docs/collections/c/documents/count", {}, true],
  ["POST", "/v1/namespaces/docs/collections/c/scan", {}, true],
  ["POST", "/v1/namespaces/docs/query", { from: "collections.c" }, true],
  ["POST", "/v1/namespaces/docs/sql", { query: "select count(*) as n from c" }, true],
  ["POST", "/service.collection.v1.CollectionService/ListCollections", { namespace: "docs" }, false],
  ["POST", "/service.collection.v1.CollectionService/ListVersions", { namespace: "docs", collection: "c" }, true],
  ["POST", "/service.collection.v1.CollectionService/GetCollection", { namespace: "docs", collection: "c" }, true],
  ["POST", "/service.collection.v1.CollectionService/Scan", { namespace: "docs", collection: "c" }, true],
  ["POST", "/service.collection.v1.DocumentService/CountDocuments", { namespace: "docs", collection: "c" }, true],
];

test("every read takes a token: malformed it is 400, and what derives from its stream waits", {
  timeout: 50_000,
}, async () => {
  const docs = await StreamClient.create(server.url, "docs");
  await ask(`${docs.url}/collections`, { body: { name: "c", schema: { fields: [{ name: "t", kind: "keyword" }] } } });
  const upsert = (docId: number) => ({ ops: [{ upsert: { id: docId, source: { t: "x" } } }] });
  const { json } = await ask(`${docs.url}/collections/c/documents`, { body: upsert(1) });
  const readAll = (token: string) =>
    tokenReads.map(([method, path, body]) =>
      ask(server.url + path, {
        method,
        headers: { "service-consistency-token": token },
        ...(body === undefined ? {} : { body }),
      }),
    );
  for (const [i, answer] of (await Promise.all(readAll("x"))).entries()) {
    assert.equal(answer.status, 400, `${tokenReads[i]![1]}: ${answer.text}`);
    assert.match(answer.text, /Service-Consistency-Token/);
  }
  const next = JSON.stringify([{ ...json.token[0], offset: json.token[0].offset + 1 }]);
  const settled = new Set<number>();
  const reads = readAll(next).map((read, i) => read.then((answer) => [settled.add(i), answer] as const));
  await Promise.all(reads.filter((_, i) => !tokenReads[i]![3]));
  for (const [i, [, path, , waits]] of tokenReads.entries()) if (waits) assert.ok(!settled.has(i), `${path} waits`);
  await ask(`${docs.url}/collections/c/documents`, { body: upsert(2) });
  for (const [i, read] of reads.entries()) {
    const [, answer] = await read;
    assert.equal(answer.status, 200, `${tokenReads[i]![1]}: ${answer.text}`);
  }
});
