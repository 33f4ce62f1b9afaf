import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { Client, ServiceError, type StoredRecord } from "../../src/client/index.ts";
import { ServerProcess } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

let server: ServerProcess;
let client: Client;
before(async () => {
  server = await ServerProcess.start();
  client = new Client(server.url);
});
after(() => server[Symbol.asyncDispose]());

const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : new TextDecoder().decode(bytes));
const values = (records: readonly StoredRecord[]) => records.map(({ value }) => text(value));

async function take<T>(from: AsyncIterable<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const each of from) {
    taken.push(each);
    if (taken.length === count) break;
  }
  return taken;
}

test("health, readiness, the instance and who the caller is", async () => {
  await client.health();
  await client.ready();
  assert.match((await client.instance()).instanceId, /^[0-9A-Z]{26}$/);
  assert.equal((await client.whoAmI())["principal"] !== undefined, true);
});

test("namespaces and streams: create, list, get, change, delete", async () => {
  const { id } = await client.createNamespace("lifecycle");
  assert.deepEqual(await client.namespace("lifecycle").get(), { id, name: "lifecycle" });
  assert.ok((await client.namespaces()).some(({ name }) => name === "lifecycle"));
  const ns = client.namespace("lifecycle");
  await ns.createStream({ name: "s", partitions: 2, retention: { max_bytes: 1000 } });
  assert.deepEqual(await ns.streams(), [
    { name: "s", partitions: 2, retention: { max_age_ms: null, max_bytes: 1000 } },
  ]);
  assert.deepEqual((await ns.stream("s").setRetention(null)).retention, { max_age_ms: null, max_bytes: null });
  await ns.stream("s").delete();
  await ns.delete();
  await assert.rejects(ns.get(), { name: "ServiceError", reason: "not_found", status: 404 });
});

test("keys are made, listed and revoked", async () => {
  const { key, ...made } = await client.createKey({ name: "till", role: "reader", lifetime_ms: 60_000 });
  assert.match(key, /^nek_/);
  assert.deepEqual(await client.keys(), [made]);
  assert.deepEqual([made.role, (await client.revokeKey("till")).status], ["reader", "revoked"]);
});

test("a quota is set and shown, and a namespace that is full is not asked again and again", async () => {
  await client.createNamespace("bounded");
  const ns = client.namespace("bounded");
  await ns.createStream({ name: "s" });
  const quota = { max_bytes: 100, max_requests_per_second: 1_000 };
  assert.deepEqual(await ns.setQuota(quota), { ...quota, used_bytes: 0 });
  assert.deepEqual(await ns.quota(), { ...quota, used_bytes: 0 });
  let retries = 0;
  const counting = new Client({ url: server.url, onRetry: () => void retries++ });
  const append = () =>
    counting
      .namespace("bounded")
      .stream("s")
      .append(0, [{ value: "x".repeat(1_000) }]);
  await assert.rejects(append, (error: ServiceError) => error.details["quota"] === "max_bytes");
  assert.equal(retries, 0);
  await ns.setQuota({});
  await append();
});

test("records come back as they were appended, bytes and text, by partition and by key", async () => {
  await client.createNamespace("records");
  const ns = client.namespace("records");
  await ns.createStream({ name: "s", partitions: 3 });
  const stream = ns.stream("s");
  const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => i % 256);
  const appended = await stream.append(1, [
    { key: "ключ", value: bytes, headers: [{ key: "h", value: "x" }, { key: "empty" }], timestampMs: 5 },
    {},
  ]);
  assert.equal(appended.last_offset, 1);
  const { records, next_offset } = await stream.fetch({ partition: 1, from: 0 });
  assert.equal(next_offset, 2);
  assert.equal(text(records[0]?.key), "ключ");
  assert.deepEqual(new Uint8Array(records[0]?.value ?? []), bytes);
  assert.deepEqual(
    records[0]?.headers.map(({ key, value }) => [key, text(value)]),
    [
      ["h", "x"],
      ["empty", undefined],
    ],
  );
  assert.equal(records[0]?.timestampMs, 5);
  assert.equal(records[1]?.value, undefined);
  const routed = await stream.appendByKey([
    { key: "a", value: "1" },
    { key: "a", value: "2" },
  ]);
  assert.equal(routed.appends.length, 1);
  const { partition, base_offset } = routed.appends[0]!;
  const page = await stream.fetch({ partition, from: base_offset });
  assert.deepEqual(values(page.records), ["1", "2"]);
  const read = [];
  for await (const record of stream.read({ partition: 1 })) read.push(record.offset);
  assert.deepEqual(read.slice(0, 2), [0, 1]);
});

test("an idempotency key makes two appends one, and match_offset is a conflict with its watermark", async () => {
  await client.createNamespace("once");
  await client.namespace("once").createStream({ name: "s" });
  const stream = client.namespace("once").stream("s");
  const first = await stream.append(0, [{ value: "a" }], { idempotencyKey: "k" });
  assert.deepEqual(await stream.append(0, [{ value: "a" }], { idempotencyKey: "k" }), first);
  assert.deepEqual(values((await stream.fetch({ from: 0 })).records), ["a"]);
  await assert.rejects(stream.append(0, [{ value: "b" }], { matchOffset: 0 }), (error: ServiceError) => {
    assert.equal(error.reason, "conflict");
    assert.equal(error.details["high_watermark"], 1);
    return true;
  });
});

test("events are appended once and read back", async () => {
  await client.createNamespace("events");
  await client.namespace("events").createStream({ name: "s" });
  const stream = client.namespace("events").stream("s");
  const event = { specversion: "1.0", id: "1", source: "/test", type: "t", data: { a: 1 } } as const;
  const statuses = async () => (await stream.appendEvents([event])).events.map(({ status }) => status);
  assert.deepEqual(await statuses(), ["appended"]);
  assert.deepEqual(await statuses(), ["duplicate"]);
  const page = await stream.fetchEvents({ from: 0 });
  assert.deepEqual(page.events[0]?.data, { a: 1 });
  assert.equal(page.next_offset, 1);
});

test("a link counts what its source holds", async () => {
  await client.createNamespace("links");
  const ns = client.namespace("links");
  await ns.createStream({ name: "s" });
  await ns.createLink({ name: "l", source: "s" });
  await ns.stream("s").append(0, [{ key: "a" }, { key: "a" }]);
  // The read carries the session's token, so that the link has applied the append.
  assert.deepEqual((await ns.link("l")).counters, { a: 2 });
  assert.equal((await ns.links())[0]?.status, "running");
  await ns.deleteLink("l");
  assert.deepEqual(await ns.links(), []);
});

test("documents: write, get, scroll, count, patch and delete by filter, query", async () => {
  await client.createNamespace("docs");
  const ns = client.namespace("docs");
  const schema = {
    fields: [
      { name: "title", kind: "text" },
      { name: "tag", kind: "keyword", fast: true },
    ],
    vectors: [{ name: "v", dim: 2, distance: "cosine" }],
  } as const;
  const made = await ns.createCollection("c", schema);
  assert.equal((await ns.createCollection("c", schema)).id, made.id);
  const collection = ns.collection("c");
  await collection.write(
    Array.from({ length: 25 }, (_, id) => ({
      upsert: { id, source: { title: `number ${id}`, tag: id % 2 === 0 ? "even" : "odd" }, vectors: { v: [1, id] } },
    })),
  );
  assert.equal(await collection.count(), 25);
  assert.equal((await collection.get(3))?.source["tag"], "odd");
  assert.equal(await collection.get(99), undefined);
  await assert.rejects(ns.collection("none").get(1), { reason: "not_found" });
  const found = await collection.getMany([1, 99, 2]);
  assert.deepEqual(
    found.map((each) => each?.id),
    [1, undefined, 2],
  );
  const ids = [];
  for await (const { id } of collection.scroll({ pageSize: 4, filter: { term: { tag: "even" } } })) ids.push(id);
  assert.deepEqual(
    ids,
    Array.from({ length: 13 }, (_, i) => 2 * i),
  );
  assert.equal(await collection.patchByFilter({ term: { tag: "odd" } }, { source: { tag: "x" } }, { maxDocs: 5 }), 12);
  assert.equal(await collection.deleteByFilter({ term: { tag: "x" } }), 12);
  assert.equal(await collection.count(), 13);
  const hybrid = await ns.query({
    from: "c",
    retrieve: [{ text: { field: "title", query: "4" } }, { vector: { field: "v", query: [1, 4] } }],
    limit: 1,
  });
  assert.equal(hybrid.rows?.[0]?._id, 4);
  assert.equal((await ns.queries([{ from: "c", limit: 2 }])).length, 1);
  await ns.updateAliases([{ add: { alias: "a", collection: "c" } }]);
  assert.deepEqual(await ns.aliases(), [{ alias: "a", collection: "c" }]);
  assert.equal((await collection.addFields([{ name: "n", kind: "i64" }])).schema_version, 2);
  const names = [];
  for await (const { name } of ns.collections({ pageSize: 1 })) names.push(name);
  assert.deepEqual(names, ["c"]);
  await collection.drop();
});

test("errors carry reason, field, status and the request's id", async () => {
  await assert.rejects(client.createNamespace("no spaces"), (error: unknown) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.reason, "invalid_argument");
    assert.equal(error.code, "invalid_argument");
    assert.equal(error.field, "name");
    assert.equal(error.status, 400);
    assert.match(error.requestId ?? "", /.+/);
    return true;
  });
});

test("a session's token is merged from its writes, and gives another session its view", async () => {
  await client.createNamespace("tokens");
  const writer = new Client(server.url);
  await writer.namespace("tokens").createStream({ name: "s", partitions: 2 });
  const stream = writer.namespace("tokens").stream("s");
  const { id } = await stream.get();
  await stream.append(0, [{ value: "a" }]);
  await stream.append(0, [{ value: "b" }]);
  await stream.append(1, [{ value: "c" }]);
  const token = [
    { stream: id, partition: 0, offset: 1 },
    { stream: id, partition: 1, offset: 0 },
  ];
  assert.deepEqual(writer.session.token, token);
  const seen: (string | null)[] = [];
  const reader = new Client({
    url: server.url,
    token: writer.session.token,
    fetch: (url, init) => {
      seen.push(new Headers(init?.headers).get("service-consistency-token"));
      return fetch(url, init);
    },
  });
  await reader.namespace("tokens").stream("s").get();
  assert.deepEqual(
    seen.map((each) => JSON.parse(each ?? "null")),
    [token],
  );
});

test("a tail follows, ends with its signal, and merges partitions", async () => {
  await client.createNamespace("tail");
  const ns = client.namespace("tail");
  await ns.createStream({ name: "s", partitions: 2 });
  const stream = ns.stream("s");
  await stream.append(0, [{ value: "a" }]);
  await stream.append(1, [{ value: "b" }]);
  const both = await take(stream.tail({ from: "start" }), 2);
  assert.deepEqual(values(both).sort(), ["a", "b"]);
  const stop = new AbortController();
  const tail = stream.tail({ partition: 0, from: "end", signal: stop.signal });
  const next = tail.next();
  // Whichever comes first, the tail's start or this record: from here on each record is one that the tail must show.
  await eventually(
    async () => {
      await stream.append(0, [{ value: "live" }]);
      return await Promise.race([next.then(() => true), new Promise((resolve) => setTimeout(resolve, 100, false))]);
    },
    (came) => came === true,
  );
  assert.equal(text((await next).value?.value), "live");
  stop.abort();
  await assert.rejects(async () => {
    for await (const _ of tail);
  });
  await assert.rejects(take(stream.tail({ partition: 0, from: 999 }), 1), { reason: "offset_out_of_range" });
});

/** A server of the test's own, whose answers are what the test is about. */
async function scripted(answers: readonly [number, Record<string, string>, string][]) {
  const requests: { method: string; url: string; key: string | undefined }[] = [];
  const fake: Server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, key: headers["idempotency-key"] as string | undefined });
    const [status, more, body] = answers[requests.length - 1] ?? [500, {}, "{}"];
    request.resume();
    if (status === 0) request.socket.destroy();
    else response.writeHead(status, { "content-type": "application/json", ...more }).end(body);
  });
  await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
  const waits: number[] = [];
  const retry = { attemptsMax: 4, waitMs: 1, waitMsMax: 4 };
  const own = new Client({ url, retry, onRetry: (_, ms) => waits.push(ms) });
  return { own, requests, waits, [Symbol.dispose]: () => void fake.close() };
}

const down: [number, Record<string, string>, string] = [
  503,
  { "retry-after": "0" },
  '{"error":"unavailable","message":"m"}',
];
const cut: [number, Record<string, string>, string] = [0, {}, ""];
const appended: [number, Record<string, string>, string] = [200, {}, '{"base_offset":0,"last_offset":0,"token":[]}'];

test("a write is repeated with the same key, whatever was lost", async () => {
  using fake = await scripted([down, cut, appended]);
  await fake.own
    .namespace("n")
    .stream("s")
    .append(0, [{ value: "a" }]);
  assert.equal(fake.requests.length, 3);
  assert.equal(new Set(fake.requests.map(({ key }) => key)).size, 1);
  assert.match(fake.requests[0]?.key ?? "", /^[0-9a-f]{32}$/);
});

test("a create is not repeated when its outcome is unknown, but when it was refused for load", async () => {
  using lost = await scripted([cut, [201, {}, '{"id":1}']]);
  await assert.rejects(lost.own.createNamespace("n"), { reason: "unavailable", status: 0 });
  assert.equal(lost.requests.length, 1);
  using full = await scripted([
    [429, { "retry-after": "0" }, '{"error":"resource_exhausted","message":"m"}'],
    [201, {}, '{"id":1}'],
  ]);
  assert.deepEqual(await full.own.createNamespace("n"), { id: 1 });
});

test("retries end after the last attempt, and Retry-After is waited for", async () => {
  using fake = await scripted([down, down, down, down, appended]);
  await assert.rejects(fake.own.namespaces(), { reason: "unavailable", status: 503 });
  assert.equal(fake.requests.length, 4);
  using slow = await scripted([
    [429, { "retry-after": "1" }, "{}"],
    [200, {}, '{"namespaces":[]}'],
  ]);
  assert.deepEqual(await slow.own.namespaces(), []);
  assert.ok(slow.waits[0]! >= 1000, `${slow.waits[0]}`);
});

test("a signal ends a call that waits for its retry", async () => {
  using fake = await scripted([[503, { "retry-after": "600" }, "{}"]]);
  const stop = new AbortController();
  const asking = fake.own.namespaces({ signal: stop.signal });
  await eventually(
    async () => fake.waits.length,
    (count) => count === 1,
  );
  stop.abort(new Error("enough"));
  await assert.rejects(asking, { message: "enough" });
});

test("bundled for browsers it needs nothing else, and is small", async () => {
  const { outputFiles } = await build({
    entryPoints: ["src/client/index.ts"],
    bundle: true,
    write: false,
    minify: true,
    platform: "browser",
    format: "esm",
    absWorkingDir: new URL("../..", import.meta.url).pathname,
  });
  assert.ok(outputFiles[0]!.contents.length < 30_000, `${outputFiles[0]!.contents.length} bytes`);
});
