import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, eventually, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let client: StreamClient;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
});
after(() => server[Symbol.asyncDispose]());

function append(url: string, key: string, value: string, more: object = {}) {
  const body = { records: [{ value: base64(value) }], ...more };
  return ask(url, { body, headers: { "idempotency-key": key } });
}

test("the same key and body replay the recorded reply, and append nothing", async () => {
  await client.createStream("replayed");
  const url = client.recordsUrl("replayed");
  const first = await append(url, "key-1", "a");
  assert.equal(first.headers.get("idempotency-replayed"), null);
  await client.append("replayed", ["between"]);
  const again = await append(url, "key-1", "a");
  assert.equal(again.status, 200);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.json, first.json);
  assert.equal(again.headers.get("service-consistency-token"), first.headers.get("service-consistency-token"));
  assert.deepEqual(await client.values("replayed"), ["a", "between"]);
});

test("the same key with another body, or for another partition, is 409", async () => {
  await client.createStream("conflicts", { partitions: 2 });
  await append(client.recordsUrl("conflicts"), "key", "a");
  assertError(await append(client.recordsUrl("conflicts"), "key", "b"), 409, "conflict");
  assertError(await append(client.recordsUrl("conflicts", 1), "key", "a"), 409, "conflict");
  assert.deepEqual(await client.values("conflicts"), ["a"]);
  assert.deepEqual(await client.values("conflicts", 0, 1), []);
});

test("a name with escaped letters is the same name", async () => {
  await client.createStream("escaped");
  const url = client.recordsUrl("escaped");
  const first = await append(url, "key", "a");
  const again = await append(url.replace("/escaped/", "/%65sc%61ped/"), "key", "a");
  assert.equal(again.headers.get("idempotency-replayed"), "true", again.text);
  assert.deepEqual(again.json, first.json);
});

test("keys of different streams, and different keys of one, have nothing to do with each other", async () => {
  await client.createStream("one");
  await client.createStream("two");
  for (const [stream, key] of [
    ["one", "k"],
    ["two", "k"],
    ["one", "K"],
    ["one", "k "],
  ] as const) {
    const done = await append(client.recordsUrl(stream), key, `${stream}`);
    assert.equal(done.status, 200);
  }
  assert.deepEqual(await client.values("one"), ["one", "one"], "a header's outer spaces are not part of it");
  assert.deepEqual(await client.values("two"), ["two"]);
});

test("a routed append is replayed with the partitions it went to", async () => {
  await client.createStream("routed", { partitions: 4 });
  const url = `${client.streamUrl("routed")}/records`;
  const first = await append(url, "k", "keyless");
  const again = await append(url, "k", "keyless");
  assert.deepEqual(again.json, first.json);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
});

test("one key sent many times at once is appended once", async () => {
  await client.createStream("raced");
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => append(client.recordsUrl("raced"), "same", "once")),
  );
  for (const answer of answers) assert.deepEqual(answer.json, answers[0]!.json);
  assert.equal(answers.filter(({ headers }) => headers.get("idempotency-replayed") === null).length, 1);
  assert.deepEqual(await client.values("raced"), ["once"]);
});

test("a refused append is not recorded: its key can be used again", async () => {
  await client.createStream("refused");
  const url = client.recordsUrl("refused");
  assertError(await append(url, "k", "a", { match_offset: 5 }), 409, "conflict");
  assert.equal((await append(url, "k", "a")).status, 200);
});

test("a replay comes before match_offset, which no longer holds then", async () => {
  await client.createStream("matched");
  const url = client.recordsUrl("matched");
  assert.equal((await append(url, "k", "a", { match_offset: 0 })).status, 200);
  const again = await append(url, "k", "a", { match_offset: 0 });
  assert.equal(again.status, 200, again.text);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
});

test("a stream made anew knows no key of its predecessor", async () => {
  await client.createStream("anew");
  await append(client.recordsUrl("anew"), "k", "a");
  await ask(client.streamUrl("anew"), { method: "DELETE" });
  await client.createStream("anew");
  const done = await append(client.recordsUrl("anew"), "k", "b");
  assert.equal(done.status, 200);
  assert.equal(done.headers.get("idempotency-replayed"), null);
});

for (const [what, key, status] of [
  ["255 characters", "x".repeat(255), 200],
  ["every printable sign", "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~ z", 200],
  ["256 characters", "x".repeat(256), 400],
  ["no character", "", 400],
  ["a tab", "a\tb", 400],
  ["a letter outside ASCII", "é", 400],
] as const) {
  test(`a key of ${what} is ${status}`, async () => {
    const stream = `key-${what.replaceAll(" ", "-")}`;
    await client.createStream(stream);
    const done = await append(client.recordsUrl(stream), key, "a");
    if (status === 400) assertError(done, 400, "invalid_argument", "Idempotency-Key");
    else assert.equal((await append(client.recordsUrl(stream), key, "a")).headers.get("idempotency-replayed"), "true");
  });
}

/** One event in binary mode. */
function sendEvent(url: string, key: string, data: string, attributes: Record<string, string> = {}) {
  const headers = { "ce-specversion": "1.0", "ce-type": "t", "ce-source": "/s", "ce-id": "1", ...attributes };
  return ask(url, { body: data, headers: { "content-type": "text/plain", ...headers, "idempotency-key": key } });
}

test("a key on events replays what became of them, in every mode", async () => {
  await client.createStream("events", { partitions: 4 });
  const url = `${client.streamUrl("events")}/events`;
  const event = (id: string) => ({ specversion: "1.0", type: "t", source: "/s", id });
  const json = (type: string, body: unknown) => (key: string) =>
    ask(url, {
      body: JSON.stringify(body),
      headers: { "content-type": `application/cloudevents${type}`, "idempotency-key": key },
    });
  const spread = Array.from({ length: 20 }, (_, i) => event(`many-${i}`));
  for (const [mode, send] of [
    ["structured", json("+json", event("structured"))],
    ["batch", json("-batch+json", [...spread, event("structured"), event("many-0")])],
    [
      "batch in one partition",
      json(
        "-batch+json",
        [1, 2, 3].map((i) => ({ ...event(`one-${i}`), subject: "one" })),
      ),
    ],
    ["empty batch", json("-batch+json", [])],
    ["binary", (key: string) => sendEvent(url, key, "hello")],
  ] as const) {
    const first = await send(mode);
    assert.equal(first.status, 200, first.text);
    assert.equal(first.headers.get("idempotency-replayed"), null);
    const again = await send(mode);
    assert.deepEqual(again.json, first.json, mode);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal(again.headers.get("service-consistency-token"), first.headers.get("service-consistency-token"));
    // The same events under another key, or none, are duplicates.
    const other = await send(`${mode}, other`);
    assert.equal(other.headers.get("idempotency-replayed"), null);
    for (const { status } of other.json.events) assert.equal(status, "duplicate");
  }
});

test("a key on events with other events is 409, and a malformed one 400", async () => {
  await client.createStream("other-events", { partitions: 2 });
  const url = `${client.streamUrl("other-events")}/events`;
  assert.equal((await sendEvent(url, "k", "a")).status, 200);
  assertError(await sendEvent(url, "k", "b"), 409, "conflict");
  assertError(await sendEvent(url, "k", "a", { "ce-id": "2" }), 409, "conflict");
  assertError(await sendEvent(url, "k", "a", { "content-type": "text/html" }), 409, "conflict");
  assertError(await sendEvent(`${url}?partition=1`, "k", "a"), 409, "conflict");
  assertError(await append(client.recordsUrl("other-events"), "k", "a"), 409, "conflict");
  assert.equal((await sendEvent(url, "k", "a")).headers.get("idempotency-replayed"), "true");
  assertError(await sendEvent(url, "a\tb", "a"), 400, "invalid_argument", "Idempotency-Key");
});

test("a key on events holds after the window in which they are duplicates", async () => {
  await using short = await ServerProcess.start({ flags: ["--cloudevents-dedup-window", "1s"] });
  const writer = await StreamClient.create(short.url, "n");
  await writer.createStream("s");
  const url = `${writer.streamUrl("s")}/events`;
  const first = await sendEvent(url, "k", "a");
  assert.deepEqual(first.json.events, [{ status: "appended", partition: 0, offset: 0 }]);
  await eventually(
    async () => (await sendEvent(url, `${Math.random()}`, "a")).json.events[0].status as string,
    (status) => status === "appended",
  );
  const again = await sendEvent(url, "k", "a");
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.json, first.json);
});

test("one key on events that are sent many times at once is answered once", async () => {
  await client.createStream("raced-events");
  const url = `${client.streamUrl("raced-events")}/events`;
  const answers = await Promise.all(Array.from({ length: 20 }, () => sendEvent(url, "same", "once")));
  for (const answer of answers) assert.deepEqual(answer.json, answers[0]!.json);
  assert.equal(answers.filter(({ headers }) => headers.get("idempotency-replayed") === null).length, 1);
  assert.deepEqual(await client.values("raced-events"), ["once"]);
});
