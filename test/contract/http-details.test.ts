import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { RawClient } from "../listener/harness.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/** What HTTP clients of all kinds expect besides the API itself. */

const key = "writer-key-0123456789abcdef";
const readerKey = "reader-key-0123456789abcdef";
const headers = { authorization: `Bearer ${key}` };
let server: ServerProcess;
let base: string;

before(async () => {
  server = await ServerProcess.start({
    env: { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `a:admin:${key},r:reader:${readerKey}` },
  });
  base = `${server.url}/v1/namespaces`;
  await ask(base, { body: { name: "n" }, headers });
  await ask(`${base}/n/streams`, { body: { name: "s" }, headers });
});
after(() => server[Symbol.asyncDispose]());

for (const [path, allow] of [
  ["", "POST, GET, HEAD, OPTIONS"],
  ["/n/sql", "POST, OPTIONS"],
  ["/n/collections/c/documents/7", "GET, HEAD, OPTIONS"],
] as const) {
  test(`OPTIONS of ${path} tells what it serves`, async () => {
    const answer = await ask(`${base}${path}`, { method: "OPTIONS", headers });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("allow"), allow);
    assert.equal((await ask(`${base}${path}`, { method: "OPTIONS" })).status, 401);
  });
}

test("OPTIONS of what is no path is 404", async () => {
  assert.equal((await ask(`${server.url}/v1/nothing`, { method: "OPTIONS", headers })).status, 404);
});

test("a webhook that delivers CloudEvents is let in by who may write", async () => {
  const asked = { "webhook-request-origin": "events.example.com", "webhook-request-rate": "120" };
  const url = `${base}/n/streams/s/events`;
  const answer = await ask(url, { method: "OPTIONS", headers: { ...headers, ...asked } });
  assert.equal(answer.status, 204);
  const told = ["allow", "webhook-allowed-origin", "webhook-allowed-rate"].map((name) => answer.headers.get(name));
  assert.deepEqual(told, ["POST, OPTIONS", "events.example.com", "*"]);
  const reader = { authorization: `Bearer ${readerKey}` };
  assert.equal((await ask(url, { method: "OPTIONS", headers: { ...reader, ...asked } })).status, 403);
  const elsewhere = await ask(`${base}/n/streams`, { method: "OPTIONS", headers: { ...headers, ...asked } });
  assert.equal(elsewhere.headers.get("webhook-allowed-origin"), null);
});

for (const [line, status] of [
  ["FOO /v1/namespaces HTTP/1.1", 405],
  ["M-POST /v1/namespaces HTTP/1.1", 405],
  ["F(O /v1/namespaces HTTP/1.1", 400],
  ["nonsense", 400],
] as const) {
  test(`"${line}" over HTTP/1 is ${status}`, async () => {
    const text = await new RawClient(Number(new URL(server.url).port)).send(`${line}\r\nHost: h\r\n\r\n`).closed;
    assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
    assert.match(text, /"error":"invalid_argument"/);
    assert.equal(/^allow: GET, HEAD, POST, /m.test(text), status === 405);
  });
}

test("a byte order mark before JSON is passed over", async () => {
  const send = async (path: string, type: string, text: string) => {
    const more = { "content-type": type };
    const answer = await fetch(`${base}${path}`, {
      method: "POST",
      body: `\ufeff${text}`,
      headers: { ...headers, ...more },
    });
    return [answer.status, await answer.text()] as const;
  };
  const event = '{"specversion":"1.0","id":"1","source":"/s","type":"t"}';
  const filler = " ".repeat(200_000);
  for (const [path, type, text, status] of [
    ["", "application/json", '{"name":"marked"}', 201],
    ["/n/streams", "application/json", `{"name":"${"large"}",${filler}"partitions":1}`, 201],
    ["/n/streams/s/partitions/0/records", "application/json", '{"records":[{"value":"YQ=="}]}', 200],
    ["/n/streams/s/events", "application/cloudevents+json", event, 200],
    ["/n/streams/s/events", "application/cloudevents-batch+json", `[${event}]`, 200],
  ] as const) {
    const [got, answer] = await send(path, type, text);
    assert.equal(got, status, answer);
  }
  const [status] = await send("", "application/json", '\ufeff{"name":"twice"}');
  assert.equal(status, 400);
});

const promtool = spawnSync("promtool", ["--version"]).status === 0;
test("promtool finds nothing to say about the metrics", { skip: promtool ? false : "no promtool here" }, async () => {
  const { text } = await ask(`${server.url}/metrics`, { headers });
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  assert.equal(`${stdout}${stderr}`, "");
  assert.equal(status, 0);
});
