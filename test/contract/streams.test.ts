import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let client: StreamClient;
let all: string;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
  all = `${client.url}/streams`;
});
after(() => server[Symbol.asyncDispose]());

test("a stream has one partition and keeps records for ever unless told otherwise", async () => {
  const made = await ask(all, { body: { name: "plain" } });
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.json), ["id"]);
  assert.deepEqual((await ask(`${all}/plain`)).json, {
    id: made.json.id,
    partitions: [{ partition: 0, log_start_offset: 0, high_watermark: 0 }],
    retention: { max_age_ms: null, max_bytes: null },
  });
});

for (const [name, given, partitions, retention] of [
  ["p3", { partitions: 3 }, 3, { max_age_ms: null, max_bytes: null }],
  ["p10000", { partitions: 10_000 }, 10_000, { max_age_ms: null, max_bytes: null }],
  ["nulls", { partitions: null, retention: null }, 1, { max_age_ms: null, max_bytes: null }],
  ["age", { retention: { max_age_ms: 60_000 } }, 1, { max_age_ms: 60_000, max_bytes: null }],
  ["bytes", { retention: { max_bytes: 5, max_age_ms: null } }, 1, { max_age_ms: null, max_bytes: 5 }],
  ["both", { retention: { max_age_ms: 1, max_bytes: 2 } }, 1, { max_age_ms: 1, max_bytes: 2 }],
  ["empty", { retention: {} }, 1, { max_age_ms: null, max_bytes: null }],
] as const) {
  test(`create with ${JSON.stringify(given)}`, async () => {
    await client.createStream(`given-${name}`, given);
    const detail = (await ask(`${all}/given-${name}`)).json;
    assert.equal(detail.partitions.length, partitions);
    assert.deepEqual(detail.partitions.at(-1), { partition: partitions - 1, log_start_offset: 0, high_watermark: 0 });
    assert.deepEqual(detail.retention, retention);
  });
}

for (const [body, field] of [
  [{ partitions: 1 }, "name"],
  [{ name: "~c" }, "name"],
  [{ name: "x", partitions: 0 }, "partitions"],
  [{ name: "x", partitions: 10_001 }, "partitions"],
  [{ name: "x", partitions: -1 }, "partitions"],
  [{ name: "x", partitions: 1.5 }, "partitions"],
  [{ name: "x", partitions: "1" }, "partitions"],
  [{ name: "x", partition: 1 }, "partition"],
  [{ name: "x", retention: 5 }, "retention"],
  [{ name: "x", retention: { max_bytes: -1 } }, "retention.max_bytes"],
  [{ name: "x", retention: { max_bytes: 0 } }, "retention.max_bytes"],
  [{ name: "x", retention: { max_age_ms: "1h" } }, "retention.max_age_ms"],
  [{ name: "x", retention: { max_age_ms: 1.5 } }, "retention.max_age_ms"],
  [{ name: "x", retention: { maxBytes: 1 } }, "retention.maxBytes"],
] as const) {
  test(`create with ${JSON.stringify(body)} is 400 naming ${field}`, async () => {
    assertError(await ask(all, { body }), 400, "invalid_argument", field);
    assertError(await ask(`${all}/x`), 404, "not_found");
  });
}

test("a taken name is 409 with the existing id, also with other settings", async () => {
  const id = await client.createStream("taken");
  const again = await ask(all, { body: { name: "taken", partitions: 7 } });
  assertError(again, 409, "already_exists");
  assert.equal(again.json.id, id);
  assert.equal((await ask(`${all}/taken`)).json.partitions.length, 1);
});

test("a stream of a missing namespace is 404", async () => {
  const other = `${server.url}/v1/namespaces/missing/streams`;
  assertError(await ask(other, { body: { name: "s" } }), 404, "not_found");
  assertError(await ask(other), 404, "not_found");
  assertError(await ask(`${other}/s`), 404, "not_found");
});

test("stream ids are unique over the namespaces, and names are not", async () => {
  const second = await StreamClient.create(server.url, "second");
  const ids = [await client.createStream("same"), await second.createStream("same")];
  assert.notEqual(ids[0], ids[1]);
});

test("the list is sorted by name and shows retention only where one is set", async () => {
  const listed = await StreamClient.create(server.url, "listed");
  await listed.createStream("b", { partitions: 2 });
  await listed.createStream("a", { retention: { max_bytes: 10 } });
  await listed.createStream("C", { retention: {} });
  assert.deepEqual((await ask(`${listed.url}/streams`)).json, {
    streams: [
      { name: "C", partitions: 1 },
      { name: "a", partitions: 1, retention: { max_age_ms: null, max_bytes: 10 } },
      { name: "b", partitions: 2 },
    ],
  });
  const empty = await StreamClient.create(server.url, "listed-empty");
  assert.deepEqual((await ask(`${empty.url}/streams`)).json, { streams: [] });
});

test("the list comes in pages where they are asked for", async () => {
  const paged = await StreamClient.create(server.url, "paged");
  for (const name of ["b", "a", "d", "c", "B"]) await paged.createStream(name);
  const seen: string[][] = [];
  let token = "";
  do {
    const { json } = await ask(`${paged.url}/streams?page_size=2&page_token=${token}`);
    seen.push(json.streams.map(({ name }: { name: string }) => name));
    token = json.next_page_token;
  } while (token !== "");
  assert.deepEqual(seen, [["B", "a"], ["b", "c"], ["d"]]);
  for (const [query, field] of [
    ["page_size=0", "page_size"],
    ["page_size=1001", "page_size"],
    ["page_token=%25", "page_token"],
  ] as const) {
    assertError(await ask(`${paged.url}/streams?${query}`), 400, "invalid_argument", field);
  }
});

test("the detail follows appends, partition by partition", async () => {
  await client.createStream("marks", { partitions: 3 });
  await client.append("marks", ["a", "b"], 2);
  await client.append("marks", ["c"], 0);
  assert.deepEqual((await ask(`${all}/marks`)).json.partitions, [
    { partition: 0, log_start_offset: 0, high_watermark: 1 },
    { partition: 1, log_start_offset: 0, high_watermark: 0 },
    { partition: 2, log_start_offset: 0, high_watermark: 2 },
  ]);
});

test("PATCH changes the retention as a whole, and null or nothing in it removes it", async () => {
  await client.createStream("patched");
  const one = `${all}/patched`;
  for (const [retention, seen] of [
    [{ max_bytes: 100 }, { max_age_ms: null, max_bytes: 100 }],
    [{ max_age_ms: 7 }, { max_age_ms: 7, max_bytes: null }],
    [null, { max_age_ms: null, max_bytes: null }],
    [
      { max_age_ms: 7, max_bytes: 8 },
      { max_age_ms: 7, max_bytes: 8 },
    ],
    [{}, { max_age_ms: null, max_bytes: null }],
  ] as const) {
    const changed = await ask(one, { method: "PATCH", body: { retention } });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual((await ask(one)).json.retention, seen);
  }
});

for (const [body, field] of [
  [{}, "retention"],
  [{ retention: { max_bytes: 1.5 } }, "retention.max_bytes"],
  [{ retention: {}, partitions: 2 }, "partitions"],
] as const) {
  test(`PATCH with ${JSON.stringify(body)} is 400 naming ${field}`, async () => {
    assertError(await ask(`${all}/plain`, { method: "PATCH", body }), 400, "invalid_argument", field);
  });
}

test("PATCH and DELETE of a missing stream are 404", async () => {
  assertError(await ask(`${all}/no`, { method: "PATCH", body: { retention: null } }), 404, "not_found");
  assertError(await ask(`${all}/no`, { method: "DELETE" }), 404, "not_found");
});

test("a dropped stream is gone; made anew it has a new id and an empty log", async () => {
  const first = await client.createStream("reborn");
  await client.append("reborn", ["old", "older"]);
  assert.equal((await ask(`${all}/reborn`, { method: "DELETE" })).status, 200);
  assertError(await ask(`${all}/reborn`), 404, "not_found");
  assertError(await client.fetch("reborn", "offset=0"), 404, "not_found");
  assertError(await ask(client.recordsUrl("reborn"), { body: { records: [{}] } }), 404, "not_found");
  const second = await client.createStream("reborn");
  assert.ok(second > first);
  assert.deepEqual((await ask(`${all}/reborn`)).json.partitions, [
    { partition: 0, log_start_offset: 0, high_watermark: 0 },
  ]);
  await client.append("reborn", ["new"]);
  assert.deepEqual(await client.values("reborn"), ["new"]);
});
