import assert from "node:assert/strict";
import { test } from "node:test";
import type { Handler } from "../../src/listener/registry.ts";
import { echo, RawClient, start } from "./harness.ts";

/** Answers in a later turn, after everything of a packet was read, with bytes as the product does. */
const later: Handler = (request, response) => {
  request.resume();
  setTimeout(() => (response as { end(bytes: Buffer): void }).end(Buffer.from(`done ${request.url}`)), 20);
};

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);

for (const [name, after] of [
  ["a line that is none", "nonsense\r\n\r\n"],
  ["a chunk that is none", "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
] as const) {
  test(`requests before ${name} are answered, and then it is`, async (t) => {
    const { port } = await start(t, later);
    const text = await new RawClient(port).send(get("/a") + get("/b") + after).closed;
    assert.deepEqual(statuses(text), ["200", "200", "400"]);
    assert.match(text, /done \/a[\s\S]*done \/b[\s\S]*"message":"request: is not valid HTTP\/1\.1","field":"request"/);
  });
}

test("a request that was answered by its head gets no second answer for its body", async (t) => {
  const { port } = await start(t, later);
  const noHost = "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
  const text = await new RawClient(port).send(get("/a") + noHost).closed;
  assert.deepEqual(statuses(text), ["200", "400"]);
  assert.match(text, /"field":"host"/);
});

test("the word to go on never stands within an answer", async (t) => {
  const { port } = await start(t, later);
  const expecting = "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
  const client = new RawClient(port).send(get("/a") + expecting);
  await client.until(/done \/b/);
  assert.match(client.text, /\r\n\r\ndone \/aHTTP\/1\.1 200 [\s\S]*\r\n\r\ndone \/b$/);
  assert.deepEqual(statuses(client.text), ["200", "200"]);
});

test("a request that comes alone is told to go on", async (t) => {
  const { port } = await start(t, echo);
  const client = new RawClient(port).send(
    "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
  );
  await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  client.send("x");
  await client.until(/POST \/b x/);
});
