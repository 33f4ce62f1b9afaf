import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { test } from "node:test";
import type { Listener } from "../../src/listener/listener.ts";
import type { Handler } from "../../src/listener/registry.ts";
import { frame, frameType, greeting, headers } from "./frames.ts";
import { eventually, http2Client, http2Request, RawClient, start } from "./harness.ts";

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

/** Holds `/wait` and `/stream` (whose answer has begun); answers anything else by whether it drains. */
function service(): { handler: Handler; held: (() => void)[]; watch(listener: Listener): void } {
  const held: (() => void)[] = [];
  let watched: Listener | undefined;
  return {
    held,
    watch: (listener) => {
      watched = listener;
    },
    handler: (request, response) => {
      const answer = response as { statusCode: number; write(text: string): void; end(text: string): void };
      if (request.url === "/stream") answer.write("begun ");
      if (request.url === "/wait" || request.url === "/stream") {
        held.push(() => answer.end("done"));
        return;
      }
      answer.statusCode = watched?.draining ? 503 : 200;
      answer.end("ready?");
    },
  };
}

test("an idle listener drains at once and closes its idle connections", async (t) => {
  const { handler } = service();
  const { listener, port } = await start(t, handler);
  const idle = new RawClient(port).send(get("/"));
  await idle.until(/ready\?/);
  const silent = new RawClient(port);
  const session = http2Client(t, listener.address.url);
  await http2Request(session, {});
  await eventually(() => listener.connections === 3 && listener.inFlight === 0);
  const sessionClosed = once(session, "close");
  const [first, second] = [listener.drain(60_000), listener.drain(1)];
  assert.equal(first, second);
  await first;
  await Promise.all([idle.closed, silent.closed, sessionClosed]);
  assert.equal(listener.connections, 0);
  await assert.rejects(fetch(listener.address.url));
});

test("requests in flight finish, new ones are answered meanwhile, and each connection is told to go", async (t) => {
  const { handler, held, watch } = service();
  const { listener, port } = await start(t, handler);
  watch(listener);
  const waiting = new RawClient(port).send(get("/wait"));
  const streaming = new RawClient(port).send(get("/stream"));
  const session = http2Client(t, listener.address.url);
  const goaway = once(session, "goaway");
  const http2Waiting = http2Request(session, { ":path": "/wait" });
  const idle = new RawClient(port).send(get("/"));
  await idle.until(/ready\?/);
  await eventually(() => held.length === 3 && listener.inFlight === 3);

  let drained = false;
  const drain = listener.drain(60_000).then(() => {
    drained = true;
  });
  await idle.closed;
  await goaway;
  const fresh = await fetch(`${listener.address.url}/ready`);
  assert.equal(fresh.status, 503);
  assert.equal(fresh.headers.get("connection"), "close");
  const freshSession = http2Client(t, listener.address.url);
  const freshClosed = once(freshSession, "close");
  assert.equal((await http2Request(freshSession, { ":path": "/ready" })).status, 503);
  await freshClosed;
  assert.equal(drained, false);

  for (const release of held) release();
  await drain;
  assert.match(await waiting.closed, /connection: close\r\n[\s\S]*done/i);
  assert.match(await streaming.closed, /begun[\s\S]*done[\s\S]*\r\n0\r\n\r\n$/);
  assert.equal((await http2Waiting).body, "done");
  assert.equal(listener.inFlight, 0);
});

test("GOAWAY names the last HTTP/2 request that is served", async (t) => {
  const { handler, held } = service();
  const { listener, port } = await start(t, handler);
  const client = new RawClient(port).send(Buffer.concat([greeting, headers(1, "GET"), headers(3, "GET")]));
  const other = new RawClient(port).send(get("/wait"));
  await eventually(() => held.length === 1 && listener.inFlight === 1);
  await client.until(/ready\?[\s\S]*ready\?/);
  const drain = listener.drain(60_000);
  const head = frame(frameType.goaway, 0, 0, Buffer.alloc(8)).subarray(0, 9);
  await eventually(() => client.text.includes(Buffer.concat([head, Buffer.from([0, 0, 0, 3])]).toString("latin1")));
  held[0]!();
  await drain;
  await Promise.all([client.closed, other.closed]);
});

test("when the time is over, requests are cut off", async (t) => {
  const { handler, held } = service();
  const { listener, port, lines } = await start(t, handler);
  const waiting = new RawClient(port).send(get("/wait"));
  const session = http2Client(t, listener.address.url);
  const stream = session.request({ ":path": "/stream" });
  stream.on("error", () => {});
  const closed = once(session, "close");
  await eventually(() => held.length === 2);
  await listener.drain(50);
  assert.equal(await waiting.closed, "");
  await closed;
  assert.deepEqual([listener.inFlight, listener.connections], [0, 0]);
  assert.deepEqual(lines, [{ level: "warn", message: "drain time is over; requests are cut off" }]);
});

test("close cuts off a drain that waits", async (t) => {
  const { handler, held } = service();
  const { listener, port } = await start(t, handler);
  const waiting = new RawClient(port).send(get("/wait"));
  await eventually(() => held.length === 1);
  const drain = listener.drain(60_000);
  await listener.close();
  await Promise.all([drain, waiting.closed]);
  await listener.close();
});

test("a large answer in flight arrives whole", async (t) => {
  const large = Buffer.alloc(20 * 1024 * 1024, 97);
  let listener: Listener | undefined;
  let drain: Promise<void> | undefined;
  const started = await start(t, (_request, response) => {
    (response as { end(data: Buffer): void }).end(large);
    drain ??= listener!.drain(60_000);
  });
  listener = started.listener;
  const session = http2Client(t, listener.address.url);
  await once(session, "remoteSettings");
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const one = new Promise<number>((resolve, reject) => {
    const count = async (response: IncomingMessage) => {
      let length = 0;
      for await (const chunk of response) length += (chunk as Buffer).length;
      return length;
    };
    httpRequest(listener!.address.url, { agent }, (response) => count(response).then(resolve, reject))
      .on("error", reject)
      .end();
  });
  const two = http2Request(session, {});
  assert.equal(await one, large.length);
  assert.equal((await two).body.length, large.length);
  await drain;
});
