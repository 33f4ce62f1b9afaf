import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { MemoryWatch, MiB } from "./memory.ts";

const readersEach = 25;
const storedBytes = 64 * MiB;
const pagesAsked = 64;
/** Pieces of the few answers that are begun, and what the runtime keeps of them: one page alone is larger. */
const readerBytesMax = 16 * MiB;
const sips = 30;

/** Asks for as much as it may, and reads a few bytes now and then. */
class SlowReader {
  readonly #socket: Socket;
  received = 0;

  constructor(url: string, path: string, accept: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("error", () => {});
    // Without a listener for data the socket is read by hand only.
    this.#socket.on("readable", () => {});
    // The next pages are asked for before the first is read.
    this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\naccept: ${accept}\r\n\r\n`.repeat(pagesAsked));
  }

  sip(): void {
    this.received += (this.#socket.read(64) as Buffer | null)?.length ?? 0;
  }

  end(): void {
    this.#socket.destroy();
  }
}

/**
 * Proves: readers that ask for many pages of 16 MiB, or follow a long stream, and hardly read, hold a few pieces of
 * their answers in the server and no more; others are served meanwhile.
 */
test("slow readers do not grow the server's memory", async (t) => {
  await using server = await ServerProcess.start();
  const { url } = server;
  const stream = `${url}/v1/namespaces/slow/streams/s`;
  assert.equal((await ask(`${url}/v1/namespaces`, { body: { name: "slow" } })).status, 201);
  assert.equal((await ask(`${url}/v1/namespaces/slow/streams`, { body: { name: "s" } })).status, 201);
  const value = Buffer.alloc(MiB / 16, "v").toString("base64");
  const body = JSON.stringify({ records: Array.from({ length: 32 }, () => ({ value })) });
  for (let bytes = 0; bytes < storedBytes; bytes += 2 * MiB) {
    assert.equal((await ask(`${stream}/partitions/0/records`, { body })).status, 200);
  }
  // The memory that one page takes in passing is no growth.
  await ask(`${stream}/partitions/0/records?offset=0&max_bytes=${16 * MiB}`);

  using memory = new MemoryWatch(server);
  const path = new URL(`${stream}/partitions/0/records`).pathname;
  const readers = Array.from({ length: readersEach }, () => [
    new SlowReader(url, `${path}?offset=0&max_bytes=${16 * MiB}`, "application/json"),
    new SlowReader(url, `${path}?offset=0`, "text/event-stream"),
  ]).flat();
  t.after(() => {
    for (const reader of readers) reader.end();
  });
  for (let sip = 0; sip < sips || readers.some(({ received }) => received === 0); sip++) {
    for (const reader of readers) reader.sip();
    await delay(100);
  }
  const perReader = memory.growth / readers.length;
  t.diagnostic(`grew by ${Math.round(memory.growth / MiB)} MiB for ${readers.length} readers`);
  assert(perReader < readerBytesMax, `a slow reader holds ${Math.round(perReader)} bytes`);

  const answer = await ask(`${stream}/partitions/0/records`, { body: { records: [{ value: "" }] } });
  assert.equal(answer.status, 200, "writers are served");
  const page = await ask(`${stream}/partitions/0/records?offset=${answer.json.base_offset}`);
  assert.equal(page.json.records.length, 1, "and readers");
});

/** Proves: requests that wait for their turn on a connection are all answered, in order, those with a body too. */
test("many pipelined requests are answered in order", async (t) => {
  await using server = await ServerProcess.start();
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  let received = "";
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
  });
  const requests = Array.from({ length: 60 }, (_, i) => {
    const body = JSON.stringify({ name: `n${i}` });
    const head = `host: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    return `POST /v1/namespaces HTTP/1.1\r\n${head}x-request-id: ${i}\r\n\r\n${body}`;
  });
  socket.write(requests.join(""));
  const answered = () => [...received.matchAll(/HTTP\/1.1 (\d+) .*?x-request-id: (\d+)\r\n/gs)];
  while (answered().length < requests.length) await delay(20);
  assert.deepEqual(
    answered().map(([, status, id]) => `${status} ${id}`),
    requests.map((_, i) => `201 ${i}`),
  );
});
