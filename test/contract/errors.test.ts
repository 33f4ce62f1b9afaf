import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let client: StreamClient;
let records: string;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
  await client.createStream("s");
  records = client.recordsUrl("s");
});
after(() => server[Symbol.asyncDispose]());

const MiB = 1024 * 1024;

for (const [method, path] of [
  ["GET", "/v1"],
  ["GET", "/v2/namespaces"],
  ["GET", "/v1/namespaces/n/stream"],
  ["GET", "/v1/namespaces/n/streams/s/partitions/0"],
  ["GET", "/V1/namespaces"],
  ["GET", "/healthy"],
  ["GET", "//health"],
  ["DELETE", "/v1/nothing"],
  ["PROPFIND", "/v1/nothing"],
  ["POST", "/v1/nothing?offset=0"],
] as const) {
  test(`the unknown route ${method} ${path} is 404`, async () => {
    assertError(await ask(server.url + path, { method }), 404, "not_found");
  });
}

test("an unknown route is 404 whatever its body", async () => {
  for (const [type, body] of [
    ["application/json", "{"],
    ["text/plain", "x"],
    ["application/json", " ".repeat(17 * MiB)],
  ] as const) {
    assertError(await ask(`${server.url}/v1/no`, { body, headers: { "content-type": type } }), 404, "not_found");
  }
});

for (const [method, path, allow] of [
  ["POST", "/health", "GET, HEAD"],
  ["DELETE", "/ready", "GET, HEAD"],
  ["POST", "/metrics", "GET, HEAD"],
  ["POST", "/openapi.json", "GET, HEAD"],
  ["POST", "/", "GET, HEAD"],
  ["PUT", "/docs", "GET, HEAD"],
  ["DELETE", "/v1/namespaces", "GET, HEAD, POST"],
  ["PUT", "/v1/namespaces/n", "DELETE, GET, HEAD"],
  ["PATCH", "/v1/namespaces/n/streams", "GET, HEAD, POST"],
  ["PUT", "/v1/namespaces/n/streams/s", "DELETE, GET, HEAD, PATCH"],
  ["GET", "/v1/namespaces/n/streams/s/records", "POST"],
  ["HEAD", "/v1/namespaces/n/streams/s/records", "POST"],
  ["PUT", "/v1/namespaces/n/streams/s/partitions/0/records", "GET, HEAD, POST"],
  ["PROPFIND", "/v1/namespaces/n/streams/s/partitions/0/records", "GET, HEAD, POST"],
  ["PURGE", "/v1/namespaces/missing?x=1", "DELETE, GET, HEAD"],
] as const) {
  test(`${method} ${path} is 405 and allows ${allow}`, async () => {
    const answer = await ask(server.url + path, { method });
    if (method === "HEAD") assert.equal(answer.status, 405);
    else assertError(answer, 405, "invalid_argument");
    assert.equal((answer.headers.get("allow") ?? "").split(", ").sort().join(", "), allow);
  });
}

test("the method alone decides: a body is not looked at", async () => {
  const answer = await ask(`${server.url}/v1/namespaces/n`, {
    method: "PUT",
    body: "{",
    headers: { "content-type": "x/y" },
  });
  assertError(answer, 405, "invalid_argument");
});

for (const [what, body] of [
  ["half an object", '{"records":'],
  ["a trailing comma", '{"records":[{}],}'],
  ["two values", "{} {}"],
  ["single quotes", "{'records':[]}"],
  ["text", "hello"],
  ["two byte order marks", '\ufeff\ufeff{"records":[{}]}'],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ["an overlong form", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
] as const) {
  test(`a body of ${what} is 400 naming the body`, async () => {
    assertError(await ask(records, { body }), 400, "invalid_argument", "body");
  });
}

for (const [type, status] of [
  ["application/json", 200],
  ["APPLICATION/JSON", 200],
  ["application/json; charset=utf-8", 200],
  ['application/json;charset="UTF-8"', 200],
  ["application/problem+json", 200],
  ["text/plain", 415],
  ["application/x-www-form-urlencoded", 415],
  ["application/xml", 415],
  ["application/jsonl", 415],
  ["application/json; charset=utf-16", 415],
  ['application/json; charset="latin1"', 415],
] as const) {
  test(`the content type ${type} is ${status}`, async () => {
    const answer = await ask(records, { body: '{"records":[{}]}', headers: { "content-type": type } });
    if (status === 200) assert.equal(answer.status, 200, answer.text);
    else assertError(answer, 415, "unsupported_media_type");
  });
}

test("a body without a content type is read as JSON", async () => {
  const sent = request(records, { method: "POST" });
  sent.end('{"records":[{}]}');
  const [answer] = await once(sent, "response");
  assert.equal(answer.statusCode, 200);
  answer.resume();
});

test("DELETE takes a content type without a body", async () => {
  await client.createStream("deleted");
  const answer = await ask(client.streamUrl("deleted"), {
    method: "DELETE",
    headers: { "content-type": "application/json" },
  });
  assert.equal(answer.status, 200, answer.text);
});

function filled(bytes: number): string {
  const body = '{"records":[{}]}';
  return body + " ".repeat(bytes - body.length);
}

/** Sends a body in chunks, without a length. */
async function sendChunked(bytes: number): Promise<{ status: number; body: string }> {
  const sent = request(records, { method: "POST", headers: { "content-type": "application/json" } });
  const answered = once(sent, "response");
  const text = Buffer.from(filled(bytes));
  for (let at = 0; at < text.length; at += MiB) sent.write(text.subarray(at, at + MiB));
  sent.end();
  const [response] = await answered;
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  return { status: response.statusCode, body };
}

test("a body of 16 MiB is taken and one byte more is 413, with its length told", async () => {
  assert.equal((await ask(records, { body: filled(16 * MiB) })).status, 200);
  assertError(await ask(records, { body: filled(16 * MiB + 1) }), 413, "invalid_argument");
  assertError(await ask(records, { body: filled(40 * MiB) }), 413, "invalid_argument");
});

test("a body of 16 MiB is taken and one byte more is 413, in chunks", async () => {
  assert.equal((await sendChunked(16 * MiB)).status, 200);
  const refused = await sendChunked(16 * MiB + 1);
  assert.equal(refused.status, 413);
  assert.equal(JSON.parse(refused.body).error, "invalid_argument");
  assert.equal((await sendChunked(40 * MiB)).status, 413);
});

test("a length over the limit is refused before the body arrives", { timeout: 50_000 }, async () => {
  const headers = { "content-type": "application/json", "content-length": String(100 * MiB) };
  const sent = request(records, { method: "POST", headers });
  sent.flushHeaders();
  const [answer] = await once(sent, "response");
  assert.equal(answer.statusCode, 413);
  sent.destroy();
});

for (const [what, path, status] of [
  ["a length over the limit", "/v1/namespaces/n/streams/s/partitions/0/records", 413],
  ["a path that is no route", "/v1/nothing", 404],
  ["a length over the limit of a call", "/service.collection.v1.NamespaceService/CreateNamespace", 400],
] as const) {
  test(`${what} is refused in place of 100 Continue`, { timeout: 50_000 }, async () => {
    const headers = {
      "content-type": "application/json",
      "content-length": String(16 * MiB + 1),
      expect: "100-continue",
    };
    const sent = request(server.url + path, { method: "POST", headers });
    let isToldToGoOn = false;
    sent.on("continue", () => {
      isToldToGoOn = true;
    });
    sent.flushHeaders();
    const [answer] = await once(sent, "response");
    assert.equal(answer.statusCode, status);
    assert.equal(answer.headers.connection, "close");
    assert.equal(isToldToGoOn, false);
    sent.destroy();
  });
}

for (const [what, more] of [
  ["a request that comes by the thousand", {}],
  ["any other", { "idempotency-key": "after many others" }],
] as const) {
  test(`more headers than are read are refused, of ${what}`, async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, "y"]));
    const answer = await ask(records, { body: { records: [{}] }, headers: { ...many, ...more } });
    assertError(answer, 431, "invalid_argument", "headers");
    assert.match(answer.json.message, /256 fields/);
  });
}

test("unknown query parameters are 400 naming them", async () => {
  for (const [path, method] of [
    ["/v1/namespaces?limit=5", "GET"],
    ["/v1/namespaces/n/streams/s?limit=5", "GET"],
    ["/v1/namespaces/n/streams/s?limit=5", "DELETE"],
  ] as const) {
    assertError(await ask(server.url + path, { method }), 400, "invalid_argument", "limit");
  }
});

test("what isn't HTTP is answered as an error too", async () => {
  const answer = await ask(`${server.url}/health`, { headers: { "x-large": "x".repeat(40_000) } });
  assertError(answer, 431, "invalid_argument");
});

/** Proves: without authentication nothing is told to a page whose name was made to resolve to this machine. */
test("a name that is not the server's is refused on every route, those without a credential too", async () => {
  for (const path of ["/v1/namespaces", "/openapi.json", "/.well-known/jwks.json"]) {
    for (const [host, status] of [
      ["localhost", 200],
      ["rebound.example", 403],
      ["no name", 400],
    ] as const) {
      const sent = request(server.url + path, { headers: { host } }).end();
      const [answer] = await once(sent, "response");
      let text = "";
      for await (const chunk of answer.setEncoding("utf8")) text += chunk;
      assert.equal(answer.statusCode, status, `${path} ${host}: ${text}`);
      if (status === 403) assert.equal(JSON.parse(text).error, "permission_denied");
      if (status === 400) assert.equal(JSON.parse(text).field, "Host");
    }
  }
});
