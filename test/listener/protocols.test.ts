import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import { test } from "node:test";
import { echo, eventually, http2Client, http2Request, RawClient, start } from "./harness.ts";

test("HTTP/1.1 and HTTP/2 on one port", async (t) => {
  const { listener } = await start(t, echo);
  const one = await fetch(`${listener.address.url}/a?b=1`, { method: "POST", body: "x".repeat(100_000) });
  assert.equal(await one.text(), `POST /a?b=1 ${"x".repeat(100_000)}`);
  const session = http2Client(t, listener.address.url);
  const two = await http2Request(session, { ":path": "/a", ":method": "POST" }, "y".repeat(300_000));
  assert.equal(two.body, `POST /a ${"y".repeat(300_000)}`);
  assert.equal(two.status, 200);
  await eventually(() => listener.inFlight === 0);
  assert.equal(listener.counters.accepted, 2);
});

test("many HTTP/2 requests share a connection, and one large answer does not refuse the others", async (t) => {
  const large = Buffer.alloc(16 * 1024 * 1024, 97);
  const { listener } = await start(t, (request, response) => {
    (response as { end(data: Buffer | string): void }).end(request.url === "/large" ? large : "small");
  });
  const session = http2Client(t, listener.address.url);
  const paths = ["/large", "/large", ...Array.from({ length: 100 }, (_, i) => `/${i}`)];
  const answers = await Promise.all(paths.map((path) => http2Request(session, { ":path": path })));
  assert.deepEqual(
    answers.map((answer) => answer.body.length),
    paths.map((path) => (path === "/large" ? large.length : 5)),
  );
});

for (const [name, bytes] of [
  ["HTTP/1.1", "POST /p HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"],
  [
    "HTTP/1.1 that starts like HTTP/2",
    "PROPFIND /p HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello",
  ],
] as const) {
  test(`${name}, one byte at a time`, async (t) => {
    const { port } = await start(t, echo);
    const text = await new RawClient(port).dribble(bytes, 1).closed;
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*(POST|PROPFIND) \/p hello/);
  });
}

test("HTTP/2, its preface one byte at a time", async (t) => {
  const { port } = await start(t, echo);
  const emptySettings = "\0\0\0\x04\0\0\0\0\0";
  const client = new RawClient(port).dribble(
    Buffer.from(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${emptySettings}`, "latin1"),
    1,
  );
  // The server's acknowledgement of our SETTINGS.
  await client.until(/\0\0\0\x04\x01\0\0\0\0/);
  client.socket.destroy();
});

test("bodies that arrive in many pieces with the headers are complete", async (t) => {
  const { port } = await start(t, echo);
  const client = new RawClient(port);
  for (let i = 0; i < 50; i++) {
    const body = String(i).repeat(1_000);
    client.send(`PUT /${i} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 7)}`);
    client.send(body.slice(7));
  }
  client.send("GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  const text = await client.closed;
  for (let i = 0; i < 50; i++) assert.ok(text.includes(`PUT /${i} ${String(i).repeat(1_000)}`), `answer ${i}`);
});

test("an h2c upgrade is ignored and served as HTTP/1", async (t) => {
  const { port } = await start(t, echo);
  const client = new RawClient(port).send(
    "GET /up HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n",
  );
  assert.match(await client.closed, /^HTTP\/1\.1 200 OK[\s\S]*GET \/up /);
});

test("an absolute-form target reaches the handler", async (t) => {
  const { port } = await start(t, echo);
  const client = new RawClient(port).send("GET http://a/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  assert.match(await client.closed, /GET http:\/\/a\/x /);
});

test("Expect: 100-continue", async (t) => {
  const { port, listener } = await start(t, echo);
  const client = new RawClient(port).send(
    "POST /e HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\nconnection: close\r\n\r\n",
  );
  await client.until(/100 Continue/);
  assert.match(await client.send("ok").closed, /200 OK[\s\S]*POST \/e ok/);

  const session = http2Client(t, listener.address.url);
  const stream = session.request({ ":path": "/e", ":method": "POST", expect: "100-continue" }, { endStream: false });
  await once(stream, "continue");
  stream.end("ok");
  stream.setEncoding("utf8");
  const [data] = await once(stream, "data");
  assert.equal(data, "POST /e ok");
});

test("a peer that sends a request and closes its half gets the answer of a handler that does not wait", async (t) => {
  const { port } = await start(t, (_request, response) => {
    (response as { end(text: string): void }).end("quick");
  });
  const client = new RawClient(port);
  client.socket.end("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  assert.match(await client.closed, /200 OK[\s\S]*quick/);
});

test("a handler that throws is answered as internal and logged, and the process lives", async (t) => {
  const { listener, lines } = await start(t, () => {
    throw new Error("bug");
  });
  const answer = await fetch(listener.address.url);
  assert.equal(answer.status, 500);
  assert.deepEqual(await answer.json(), { error: "internal", message: "internal error" });
  const second = await http2Request(http2Client(t, listener.address.url), {});
  assert.equal(second.status, 500);
  assert.deepEqual(lines, Array(2).fill({ level: "error", message: "request handler threw" }));
  await eventually(() => listener.inFlight === 0);
});

test("a client that goes away while its request is held is counted out", async (t) => {
  const { listener, port } = await start(t, () => {});
  // Three pipelined requests: Node itself reports only the first as closed.
  const one = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3));
  const session = http2Client(t, listener.address.url);
  for (let i = 0; i < 2; i++) session.request({ ":path": "/" }).on("error", () => {});
  await eventually(() => listener.inFlight === 5);
  one.socket.destroy();
  await eventually(() => listener.inFlight === 2);
  session.destroy();
  await eventually(() => listener.inFlight === 0 && listener.connections === 0);
});

test("connections above the limit are told so in their protocol, and counted", async (t) => {
  const limits = { connectionsMax: 2, refusalsMax: 2, sweepIntervalMs: 20 };
  const { listener, port, lines } = await start(t, echo, limits);
  const clients = [new RawClient(port), new RawClient(port)];
  await eventually(() => listener.connections === 2);
  const one = new RawClient(port);
  one.socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  const words = await one.closed;
  assert.match(words, /^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n.*"error":"unavailable"/s);
  await eventually(() => listener.connections === 2);
  const session = http2Client(t, listener.address.url);
  const [code, lastStream] = (await once(session, "goaway")) as [number, number];
  assert.deepEqual([code, lastStream], [constants.NGHTTP2_ENHANCE_YOUR_CALM, 0]);
  await eventually(() => listener.connections === 2);
  assert.equal(listener.counters.refused, 2);
  assert.equal(listener.counters.accepted, 2);
  await eventually(() => lines.some((line) => line.level === "warn" && line.message.startsWith("connections refused")));
  // Those that say nothing are told nothing, and only so many of them are waited for.
  const silent = [new RawClient(port), new RawClient(port)];
  await eventually(() => listener.connections === 4);
  assert.equal(await new RawClient(port).closed, "");
  assert.equal(listener.counters.refused, 5);
  for (const client of [...silent, clients[0]!]) client.socket.destroy();
  await eventually(() => listener.connections === 1);
  assert.equal((await fetch(listener.address.url)).status, 200);
});

test("requests above the limit are refused, over either protocol, and health is not", async (t) => {
  const held: (() => void)[] = [];
  const { listener, port } = await start(
    t,
    (request, response) => {
      if (request.url === "/hold") held.push(() => response.end());
      else response.end("at once");
    },
    { requestsMax: 2 },
  );
  const session = http2Client(t, listener.address.url);
  for (let i = 0; i < 2; i++) session.request({ ":path": "/hold" }).on("error", () => {});
  await eventually(() => listener.inFlight === 2);
  const refused = await http2Request(session, { ":path": "/" });
  assert.equal(refused.status, 503);
  assert.match(refused.body, /"error":"unavailable"/);
  const one = await fetch(`http://127.0.0.1:${port}/`);
  assert.deepEqual([one.status, one.headers.get("retry-after")], [503, "1"]);
  for (const path of ["/health", "/ready"]) assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200);
  assert.equal(listener.counters.overloaded, 2);
  for (const end of held) end();
  await eventually(() => listener.inFlight === 0);
  assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 200);
});

test("a turn of the event loop takes more than one connection", async (t) => {
  const { listener, port } = await start(t, echo);
  await fetch(listener.address.url).then((answer) => answer.text());
  const before = listener.counters.accepted;
  const clients = Array.from({ length: 200 }, () => new RawClient(port));
  let turns = 0;
  while (listener.counters.accepted < before + clients.length) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
    // The kernel has all of them before the listener may go on.
    if (turns === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  assert(turns < clients.length, `${turns} turns for ${clients.length} connections`);
});

test("a port that is taken is an error of start", async (t) => {
  const { port } = await start(t, echo);
  await assert.rejects(start(t, echo, {}, { port }), { code: "EADDRINUSE" });
});
