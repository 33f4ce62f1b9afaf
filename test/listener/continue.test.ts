import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { Handler } from "../../src/listener/registry.ts";
import { echo, http2Client, RawClient, start } from "./harness.ts";

const asking = (body: string, length = body.length) =>
  `POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n${body}`;

/** Refuses by the head, in a later turn. */
const refusing: Handler = (_request, response) => {
  setImmediate(() => {
    response.statusCode = 413;
    (response as { end(text: string): void }).end("too large");
  });
};

test("who is refused by the head is not told to go on, and what would come next is not awaited", async (t) => {
  const { port } = await start(t, refusing);
  const client = new RawClient(port).send(asking("", 100_000_000));
  // Rejects if the connection is reset first.
  await once(client.socket, "end");
  assert.match(client.text, /^HTTP\/1\.1 413 [\s\S]*connection: close[\s\S]*too large$/i);
});

test("a connection goes on after a body that was asked for", async (t) => {
  const { port } = await start(t, echo);
  const client = new RawClient(port);
  for (const body of ["one", "two"]) {
    client.text = "";
    client.send(asking("", body.length));
    await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    client.send(body);
    await client.until(new RegExp(`200 OK[\\s\\S]*POST /e ${body}`));
    assert.doesNotMatch(client.text, /connection: close/i);
  }
});

test("a body that came unasked is taken, and none is none", async (t) => {
  const { port } = await start(t, echo);
  for (const body of ["here", ""]) {
    const client = new RawClient(port).send(asking(body));
    await client.until(new RegExp(`200 OK[\\s\\S]*POST /e ${body}$`));
  }
});

test("over HTTP/2 too", async (t) => {
  const { listener } = await start(t, refusing);
  const session = http2Client(t, listener.address.url);
  const stream = session.request({ ":path": "/e", ":method": "POST", expect: "100-continue" }, { endStream: false });
  let isToldToGoOn = false;
  stream.on("continue", () => {
    isToldToGoOn = true;
  });
  const [headers] = await once(stream, "response");
  assert.equal(headers[":status"], 413);
  assert.equal(isToldToGoOn, false);
});
