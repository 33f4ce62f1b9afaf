import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, eventually, StreamClient } from "../support/streams.ts";
import { Tail } from "../support/tail.ts";

async function started(flags: readonly string[] = []): Promise<{ server: ServerProcess; client: StreamClient }> {
  const server = await ServerProcess.start({ flags });
  const client = await StreamClient.create(server.url, "n");
  await client.createStream("s");
  await client.append("s", ["a"]);
  return { server, client };
}

/** An append whose body is still to come: it holds the server's drain open until it is finished. */
class HalfSent {
  readonly #request: ClientRequest;
  readonly answer: Promise<[IncomingMessage]>;

  constructor(url: string) {
    this.#request = request(url, { method: "POST", headers: { "content-type": "application/json" } });
    this.answer = once(this.#request, "response") as Promise<[IncomingMessage]>;
    this.#request.write('{"records":[');
  }

  async finish(): Promise<{ status: number | undefined; text: string }> {
    this.#request.end("{}]}");
    const [response] = await this.answer;
    return { status: response.statusCode, text: await text(response) };
  }
}

/** Waits until the server has this many requests, besides the one that asks. */
async function inFlight(server: ServerProcess, count: number): Promise<void> {
  await eventually(
    async () => Number(/^service_requests_in_flight (\d+)$/m.exec((await ask(`${server.url}/metrics`)).text)?.[1]),
    (requests) => requests === count + 1,
  );
}

/** Waits until the server has closed its idle connections, which may take a request with them. */
async function draining(server: ServerProcess): Promise<void> {
  await eventually(
    async () => (await ask(`${server.url}/ready`).catch(() => undefined))?.headers.get("connection"),
    (connection) => connection === "close",
  );
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} answers long polls with what there is, and the process exits with 0`, {
    timeout: 50_000,
  }, async () => {
    const { server, client } = await started();
    await using _ = server;
    // A token for what is not there yet makes a fetch wait too; both kinds of waiting are ended.
    const polls = Array.from({ length: 5 }, () => client.fetch("s", "offset=1&max_wait_ms=60000"));
    const token = [{ stream: 1, partition: 0, offset: 5 }];
    const read = ask(client.streamUrl("s"), { headers: { "service-consistency-token": JSON.stringify(token) } });
    await inFlight(server, 6);
    const exited = once(server.child, "exit");
    server.child.kill(signal);
    for (const { status, json } of await Promise.all(polls)) {
      assert.equal(status, 200);
      assert.deepEqual(json, { records: [], next_offset: 1, high_watermark: 1, log_start_offset: 0 });
    }
    assertError(await read, 503, "unavailable");
    assert.deepEqual(await exited, [0, null]);
  });
}

test("reads that wait for a token are answered whatever they read", { timeout: 50_000 }, async () => {
  // Less than such a read may wait: one that goes on waiting is cut off.
  const { server, client } = await started(["--drain-timeout", "5s"]);
  await using _ = server;
  await ask(`${client.url}/links`, { body: { name: "l", source: "s" } });
  await ask(`${client.url}/collections`, { body: { name: "c", schema: { fields: [{ name: "t", kind: "keyword" }] } } });
  const written = await ask(`${client.url}/collections/c/documents`, {
    body: { ops: [{ upsert: { id: 1, source: { t: "x" } } }] },
  });
  const ahead = [
    { stream: 1, partition: 0, offset: 99 },
    { ...written.json.token[0], offset: 99 },
  ];
  const headers = { "service-consistency-token": JSON.stringify(ahead) };
  const reads = [
    ask(`${client.url}/links/l`, { headers }),
    ask(`${client.url}/collections/c/documents/1`, { headers }),
    ask(`${client.url}/query`, { body: { from: "collections.c" }, headers }),
    ask(`${client.url}/sql`, { body: { query: "select * from c" }, headers }),
  ];
  await inFlight(server, reads.length);
  const exited = once(server.child, "exit");
  server.child.kill("SIGTERM");
  for (const answer of await Promise.all(reads)) assertError(answer, 503, "unavailable");
  assert.deepEqual(await exited, [0, null]);
});

test("while it drains: /ready is 503, /health 200, new work 503, and what was begun is finished", {
  timeout: 50_000,
}, async () => {
  const { server, client } = await started();
  await using _ = server;
  const half = new HalfSent(client.recordsUrl("s"));
  await inFlight(server, 1);
  const exited = once(server.child, "exit");
  server.child.kill("SIGTERM");
  await draining(server);
  const notReady = await ask(`${server.url}/ready`);
  assertError(notReady, 503, "unavailable");
  assert.equal(notReady.headers.get("retry-after"), "1");
  assert.equal((await ask(`${server.url}/health`)).status, 200);
  assertError(await client.fetch("s", "offset=0"), 503, "unavailable");
  // Signals after the first change nothing.
  server.child.kill("SIGTERM");
  server.child.kill("SIGINT");
  const done = await half.finish();
  assert.equal(done.status, 200, done.text);
  assert.equal(JSON.parse(done.text).base_offset, 1);
  assert.deepEqual(await exited, [0, null]);
  await using again = await ServerProcess.start({ dataDir: server.dataDir });
  const url = `${again.url}/v1/namespaces/n/streams/s/partitions/0/records?offset=0`;
  assert.equal((await ask(url)).json.records.length, 2);
});

test("a request that is never finished is cut off when the drain time is over", { timeout: 50_000 }, async () => {
  await using server = await ServerProcess.start({ flags: ["--drain-timeout", "200ms"] });
  const client = await StreamClient.create(server.url, "n");
  await client.createStream("s");
  const half = new HalfSent(client.recordsUrl("s"));
  await inFlight(server, 1);
  const [, code] = await Promise.all([assert.rejects(half.answer), server.stop()]);
  assert.equal(code, 0);
});

test("an idle server stops at once", { timeout: 50_000 }, async () => {
  const { server } = await started();
  await using _ = server;
  assert.equal(await server.stop(), 0);
  assert.ok(server.logs.some((line) => line.includes('"stopped"')));
});

test("a tail ends when the server drains, and the server does not wait for it", { timeout: 50_000 }, async () => {
  await using own = await ServerProcess.start();
  const writer = await StreamClient.create(own.url, "n");
  await writer.createStream("s");
  await writer.append("s", ["a"]);
  await using tail = await Tail.open(`${writer.recordsUrl("s")}?offset=0`);
  await tail.take(1);
  const stopped = own.stop();
  assert.equal(await tail.next(), undefined);
  assert.equal(await stopped, 0);
});
