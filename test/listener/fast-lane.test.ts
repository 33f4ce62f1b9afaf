import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { FastHandler, FastReply } from "../../src/listener/fast-lane.ts";
import { echo, RawClient, type Started, shortLimits, start } from "./harness.ts";

/** Takes what is posted to /fast and answers with the body; `fast` tells its answers from the others. */
const fast: FastHandler = ({ head, body }, reply) => {
  if (head.target !== "/fast") return false;
  reply.send(200, ["x-lane", "fast"], Buffer.from(`${head.headers["x-name"] ?? ""}:${body.toString()}`));
  return true;
};

function startWith(t: TestContext, fast: FastHandler, limits = {}): Promise<Started> {
  return start(t, echo, limits, { fast });
}

function post(path: string, body: string, more = ""): string {
  return `POST ${path} HTTP/1.1\r\nHost: h\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
}

test("requests it knows are answered on the lane, one after another", async (t) => {
  const { port, listener } = await startWith(t, fast);
  const client = new RawClient(port);
  for (const body of ["one", "two!", "", "two!"]) {
    client.text = "";
    client.send(post("/fast", body, "X-Name: n\r\n"));
    await client.until(new RegExp(`x-lane: fast\r\n[\\s\\S]*n:${body}$`));
    assert.match(client.text, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(client.text, /connection: keep-alive\r\n/);
  }
  assert.equal(listener.inFlight, 0);
  client.socket.destroy();
});

/** Says what it was asked for, and by whom. */
const mirror: FastHandler = ({ head, body }, reply) => {
  const { method, target, headers } = head;
  reply.send(200, [], Buffer.from(`${method} ${target} ${headers["x-name"] ?? ""}:${body.toString()};`));
  return true;
};

test("each of many requests of one connection has its own line, headers and body", async (t) => {
  const { port } = await startWith(t, mirror);
  const client = new RawClient(port);
  for (const [path, name, body] of [
    ["/a", "n", "12"],
    ["/bb", "n", "34"],
    ["/a", "n", "56"],
    ["/a", "m", "78"],
    ["/ccc", "m", "90"],
    ["/ccc", "m", "123"],
    ["/bb", "n", "45"],
    ["/", "n", "67"],
  ] as const) {
    client.text = "";
    client.send(post(path, body, `X-Name: ${name}\r\n`));
    await client.until(/;$/);
    assert.equal(client.text.split("\r\n\r\n")[1], `POST ${path} ${name}:${body};`);
  }
  client.text = "";
  client.dribble(post("/dribbled", "89", "X-Name: n\r\n"), 1);
  await client.until(/POST \/dribbled n:89;$/);
});

for (const [what, line] of [
  ["a target with a space", "POST /a b HTTP/1.1"],
  ["another version", "POST /b HTTP/1.0"],
  ["another method", "PUT /b HTTP/1.1"],
  ["a GET with a body", "GET /b HTTP/1.1"],
  ["a lone carriage return", "POST /b\r HTTP/1.1"],
] as const) {
  test(`${what} after a request with the same headers is Node's`, async (t) => {
    const seen: string[] = [];
    const { port } = await startWith(t, (request, reply) => {
      seen.push(request.head.target);
      return mirror(request, reply);
    });
    const client = new RawClient(port).send(post("/a", "12"));
    await client.until(/;$/);
    client.send(post("/b", "12"));
    await client.until(/POST \/b :12;$/);
    client.text = "";
    client.send(post("/a", "34").replace("POST /a HTTP/1.1", line));
    await client.until(/HTTP\/1\.1 [24]0[0-9]/);
    assert.deepEqual(seen, ["/a", "/b"]);
  });
}

test("a request that arrives byte by byte is answered on the lane", async (t) => {
  const { port } = await startWith(t, fast);
  const client = new RawClient(port).dribble(post("/fast", "slow"), 1);
  await client.until(/x-lane: fast\r\n[\s\S]*:slow$/);
});

test("after another request the connection is Node's, and nothing of it is lost", async (t) => {
  const { port } = await startWith(t, fast);
  const client = new RawClient(port).send(post("/fast", "a"));
  await client.until(/:a$/);
  client.send(post("/other", "b"));
  await client.until(/POST \/other b/);
  client.text = "";
  client.send(post("/fast", "c"));
  await client.until(/POST \/fast c/);
  assert.doesNotMatch(client.text, /x-lane/);
});

test("requests sent without waiting are all answered, in order", async (t) => {
  const held: FastReply[] = [];
  const { port } = await startWith(t, (_request, reply) => held.push(reply) > 0);
  const client = new RawClient(port).send(post("/fast", "a"));
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
  client.send(post("/fast", "b") + post("/fast", "c"));
  // Most likely the server has them before the first is answered; either way they come after it.
  await new Promise((resolve) => setTimeout(resolve, 30));
  held[0]!.send(200, [], "first");
  await client.until(/first[\s\S]*POST \/fast b[\s\S]*POST \/fast c/);
  assert.equal(held.length, 1);
});

test("several requests in one piece are all answered, in order", async (t) => {
  const { port } = await startWith(t, fast);
  const client = new RawClient(port).send(post("/fast", "a") + post("/fast", "b"));
  await client.until(/POST \/fast a[\s\S]*POST \/fast b/);
});

test("a request in chunks is Node's", async (t) => {
  const { port } = await startWith(t, fast);
  const head = "POST /fast HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const client = new RawClient(port).send(`${head}3\r\nabc\r\n0\r\n\r\n`);
  await client.until(/POST \/fast abc/);
});

test("a body above the lane's bound is Node's", async (t) => {
  const { port } = await startWith(t, fast);
  const client = new RawClient(port).send(post("/fast", "x".repeat(100_000)));
  await client.until(/POST \/fast x{100000}/);
});

test("half a request has Node's deadlines", async (t) => {
  const { port, listener } = await startWith(t, fast, shortLimits);
  const text = await new RawClient(port).send("POST /fast HTTP/1.1\r\nHost: h\r\n").closed;
  assert.match(text, /408/);
  const body = await new RawClient(port).send("POST /fast HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab").closed;
  assert.match(body, /408/);
  assert.equal(listener.counters.timedOut, 2);
});

test("an idle connection is closed", async (t) => {
  const { port } = await startWith(t, fast, shortLimits);
  const client = new RawClient(port).send(post("/fast", "a"));
  assert.match(await client.closed, /:a$/);
});

test("a client that has sent everything is still answered", async (t) => {
  let reply: FastReply | undefined;
  const { port } = await startWith(t, (_request, given) => {
    reply = given;
    return true;
  });
  const client = new RawClient(port).send(post("/fast", "a"));
  client.socket.end();
  while (reply === undefined) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setTimeout(resolve, 30));
  reply.send(200, [], "late");
  assert.match(await client.closed, /connection: close\r\n[\s\S]*late$/);
});

test("a client that leaves is told of, and its request ends", async (t) => {
  let left = 0;
  let reply: FastReply | undefined;
  const { port, listener } = await startWith(t, (_request, given) => {
    reply = given;
    given.onLeft(() => left++);
    return true;
  });
  const client = new RawClient(port).send(post("/fast", "a"));
  while (reply === undefined) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(listener.inFlight, 1);
  client.socket.resetAndDestroy();
  while (left === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(listener.inFlight, 0);
  assert.equal(reply.isOpen, false);
  reply.send(200, [], "nobody");
});

test("a drain closes idle connections and waits for those that are being answered", async (t) => {
  let reply: FastReply | undefined;
  const { port, listener } = await startWith(t, (request, given) => {
    if (request.body.length === 0) return fast(request, given);
    reply = given;
    return true;
  });
  const idle = new RawClient(port).send(post("/fast", ""));
  await idle.until(/:$/);
  const busy = new RawClient(port).send(post("/fast", "a"));
  while (reply === undefined) await new Promise((resolve) => setImmediate(resolve));
  const drained = listener.drain(5_000);
  await idle.closed;
  assert.equal(busy.socket.destroyed, false);
  reply.send(200, [], "done");
  assert.match(await busy.closed, /connection: close\r\n[\s\S]*done$/);
  await drained;
});

test("what the handler throws is answered as internal", async (t) => {
  const { port, lines } = await startWith(t, () => {
    throw new Error("a bug");
  });
  const client = new RawClient(port).send(post("/fast", "a"));
  await client.until(/"error":"internal"/);
  assert.match(client.text, /^HTTP\/1\.1 500 /);
  assert.deepEqual(lines, [{ level: "error", message: "request handler threw" }]);
});

test("half a request whose client has said all is told to be no HTTP, as by Node", async (t) => {
  const { port } = await startWith(t, fast);
  for (const half of ["POST /fast HT", "POST /fast HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab"]) {
    const client = new RawClient(port).send(half);
    client.socket.end();
    assert.match(await client.closed, /^HTTP\/1\.1 400 [\s\S]*"field":"request"\}$/);
  }
});

test("a request whose body is still coming is in flight once the listener has settled, and a drain waits for it", async (t) => {
  const { port, listener } = await startWith(t, fast);
  const headless = new RawClient(port).send("POST /fast HTTP/1.1\r\nHost: h\r\n");
  const client = new RawClient(port).send(post("/fast", "begun").slice(0, -3));
  while (listener.inFlight === 0) await listener.settle();
  const drained = listener.drain(60_000);
  assert.equal(listener.inFlight, 1);
  client.send("gun");
  await client.until(/POST \/fast begun/);
  await drained;
  await Promise.all([client.closed, headless.closed]);
});
