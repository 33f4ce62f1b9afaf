import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let client: StreamClient;
before(async () => {
  server = await ServerProcess.start();
  client = await StreamClient.create(server.url, "n");
  await client.createStream("refused");
});
after(() => server[Symbol.asyncDispose]());

test("offsets are consecutive from 0, batch after batch, with the token in body and header", async () => {
  const id = await client.createStream("offsets");
  for (const [values, base, last] of [
    [["a"], 0, 0],
    [["b", "c", "d"], 1, 3],
    [["e"], 4, 4],
  ] as const) {
    const { json, headers } = await client.append("offsets", values);
    const token = [{ stream: id, partition: 0, offset: last }];
    assert.deepEqual(json, { base_offset: base, last_offset: last, token });
    assert.equal(headers.get("service-consistency-token"), JSON.stringify(token));
  }
  assert.deepEqual(await client.values("offsets"), ["a", "b", "c", "d", "e"]);
});

test("every field of a record comes back as it was written", async () => {
  await client.createStream("fields");
  const everyByte = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString("base64");
  const records = [
    { key: base64("k"), value: everyByte, headers: [{ key: "ä b", value: base64("v") }], timestamp_ms: 0 },
    { key: "", value: "", timestamp_ms: 8_640_000_000_000_000 },
    {
      headers: [
        { key: "twice", value: "AA==" },
        { key: "twice", value: "" },
        { key: "", value: "AQ==" },
      ],
      timestamp_ms: 5,
    },
  ];
  const appended = await ask(client.recordsUrl("fields"), { body: { records } });
  assert.equal(appended.status, 200, appended.text);
  const page = (await client.fetch("fields", "offset=0")).json;
  assert.deepEqual(
    page.records,
    records.map((record, offset) => ({ ...record, offset })),
  );
});

test("absent and null are the same for every field, and the writer's clock stands in for the time", async () => {
  await client.createStream("absent");
  const before = Date.now();
  const records = [{}, { key: null, value: null, headers: null, timestamp_ms: null }, { headers: [] }];
  const done = await ask(client.recordsUrl("absent"), { body: { records, match_offset: null } });
  assert.equal(done.status, 200, done.text);
  const page = (await client.fetch("absent", "offset=0")).json;
  for (const [offset, { timestamp_ms, ...rest }] of page.records.entries()) {
    assert.deepEqual(rest, { offset });
    assert.ok(timestamp_ms >= before && timestamp_ms <= Date.now());
  }
});

for (const [what, body, field] of [
  ["no records", {}, "records"],
  ["records that are null", { records: null }, "records"],
  ["an empty array", { records: [] }, "records"],
  ["records that are an object", { records: {} }, "records"],
  ["more records than a request may have", `{"records":[${"{},".repeat(250_000)}{}]}`, "records"],
  ["a record that is null", { records: [{}, null] }, "records[1]"],
  ["an unknown field of the body", { records: [{}], acks: 1 }, "acks"],
  ["an unknown field of a record", { records: [{}, { val: "AA==" }] }, "records[1].val"],
  ["an offset in a record", { records: [{ offset: 0 }] }, "records[0].offset"],
  ["an unknown field of a header", { records: [{ headers: [{ key: "a", v: "" }] }] }, "records[0].headers[0].v"],
  ["a header without a key", { records: [{ headers: [{ value: "" }] }] }, "records[0].headers[0].key"],
  ["headers that are an object", { records: [{ headers: {} }] }, "records[0].headers"],
  ["a value that is a number", { records: [{ value: 1 }] }, "records[0].value"],
  ["a value outside the alphabet", { records: [{ value: "a*==" }] }, "records[0].value"],
  ["a value in the URL alphabet", { records: [{ value: "_-8=" }] }, "records[0].value"],
  ["a value without padding", { records: [{}, { value: "YQ" }] }, "records[1].value"],
  ["a value with padding inside", { records: [{ value: "YQ==YQ==" }] }, "records[0].value"],
  ["a value that is only padding", { records: [{ value: "====" }] }, "records[0].value"],
  ["a value with a line break", { records: [{ value: "YWFh\n" }] }, "records[0].value"],
  ["a key that is bad base64", { records: [{ key: "?" }] }, "records[0].key"],
  [
    "a header value that is bad base64",
    { records: [{ headers: [{ key: "a", value: "!" }] }] },
    "records[0].headers[0].value",
  ],
  ["a negative time", { records: [{ timestamp_ms: -1 }] }, "records[0].timestamp_ms"],
  ["a broken time", { records: [{ timestamp_ms: 1.5 }] }, "records[0].timestamp_ms"],
  ["a time as text", { records: [{ timestamp_ms: "1" }] }, "records[0].timestamp_ms"],
  ["a negative match_offset", { records: [{}], match_offset: -1 }, "match_offset"],
  ["a match_offset as text", { records: [{}], match_offset: "0" }, "match_offset"],
] as const) {
  test(`${what}: 400 naming ${field}, and nothing is appended`, async () => {
    assertError(await ask(client.recordsUrl("refused"), { body }), 400, "invalid_argument", field);
    assert.equal((await client.fetch("refused", "offset=0")).json.high_watermark, 0);
  });
}

for (const [path, status, error] of [
  ["missing/partitions/0", 404, "not_found"],
  ["refused/partitions/1", 404, "not_found"],
  ["refused/partitions/9007199254740991", 404, "not_found"],
  ["refused/partitions/-1", 400, "invalid_argument"],
  ["refused/partitions/x", 400, "invalid_argument"],
  ["refused/partitions/0.0", 400, "invalid_argument"],
  ["refused/partitions/0x0", 400, "invalid_argument"],
  ["refused/partitions/1e0", 400, "invalid_argument"],
  ["refused/partitions/%200", 400, "invalid_argument"],
  ["~refused/partitions/0", 400, "invalid_argument"],
] as const) {
  test(`${path} is ${status}, for appends and fetches`, async () => {
    const url = `${client.url}/streams/${path}/records`;
    assertError(await ask(url, { body: { records: [{}] } }), status, error);
    assertError(await ask(`${url}?offset=0`), status, error);
  });
}

test("writers at once: every batch is whole and in one place, every offset is given once", async () => {
  await client.createStream("raced");
  const writers = Array.from({ length: 16 }, async (_, writer) => {
    const bases: number[] = [];
    for (let round = 0; round < 5; round++) {
      const values = [0, 1, 2].map((i) => `${writer}.${round}.${i}`);
      bases.push((await client.append("raced", values)).json.base_offset);
    }
    return bases;
  });
  const bases = await Promise.all(writers);
  const values = await client.values("raced");
  assert.equal(values.length, 16 * 5 * 3);
  for (const [writer, own] of bases.entries()) {
    for (const [round, base] of own.entries()) {
      const batch = values.slice(base, base + 3);
      assert.deepEqual(
        batch,
        [0, 1, 2].map((i) => `${writer}.${round}.${i}`),
      );
    }
  }
});

test("match_offset: the expected offset appends, another is 409 with the high watermark", async () => {
  await client.createStream("matched");
  const url = client.recordsUrl("matched");
  const at = (match_offset: number) => ask(url, { body: { records: [{}, {}], match_offset } });
  assert.equal((await at(0)).json.base_offset, 0);
  for (const wrong of [0, 1, 3]) {
    const refused = await at(wrong);
    assertError(refused, 409, "conflict");
    assert.equal(refused.json.high_watermark, 2);
  }
  assert.equal((await at(2)).json.base_offset, 2);
  const raced = await Promise.all(Array.from({ length: 10 }, () => at(4)));
  assert.equal(raced.filter(({ status }) => status === 200).length, 1);
  assert.equal((await client.fetch("matched", "offset=0")).json.high_watermark, 6);
});

test("without a partition, keys go where Kafka's partitioner puts them", async () => {
  const id = await client.createStream("routed", { partitions: 5 });
  // murmur2 as published with Kafka's own tests: "21" is -973932308, "foobar" -790332482, "abc" 479470107.
  const partitionOf = (hash: number) => (hash & 0x7fffffff) % 5;
  const want = new Map([
    ["21", partitionOf(-973932308)],
    ["foobar", partitionOf(-790332482)],
    ["abc", partitionOf(479470107)],
  ]);
  const keys = ["21", "foobar", "abc", "21", "abc"];
  const records = keys.map((key, i) => ({ key: base64(key), value: base64(String(i)) }));
  const done = await ask(`${client.streamUrl("routed")}/records`, { body: { records } });
  assert.equal(done.status, 200, done.text);
  assert.deepEqual(Object.keys(done.json).sort(), ["appends", "token"]);
  const token: object[] = [];
  for (const { partition, base_offset, last_offset, token: own } of done.json.appends) {
    const here = keys.flatMap((key, i) => (want.get(key) === partition ? [String(i)] : []));
    assert.equal(base_offset, 0);
    assert.equal(last_offset, here.length - 1);
    assert.deepEqual(await client.values("routed", 0, partition), here);
    assert.deepEqual(own, [{ stream: id, partition, offset: last_offset }]);
    token.push(...own);
  }
  assert.deepEqual(
    done.json.appends.map(({ partition }: { partition: number }) => partition),
    [...new Set(want.values())].sort(),
  );
  assert.deepEqual(done.json.token, token);
  assert.equal(done.headers.get("service-consistency-token"), JSON.stringify(token));
});

test("without a partition, the keyless records of one request stay together and in order", async () => {
  await client.createStream("keyless", { partitions: 4 });
  const url = `${client.streamUrl("keyless")}/records`;
  const used = new Set<number>();
  for (let i = 0; i < 8; i++) {
    const records = ["a", "b", "c"].map((value) => ({ value: base64(`${i}${value}`) }));
    const { json } = await ask(url, { body: { records } });
    assert.equal(json.appends.length, 1);
    const [{ partition, base_offset }] = json.appends;
    assert.deepEqual(await client.values("keyless", base_offset, partition), [`${i}a`, `${i}b`, `${i}c`]);
    used.add(partition);
  }
  assert.ok(used.size > 1, "requests are spread over the partitions");
});

for (const [body, field] of [
  [{ records: [] }, "records"],
  [{ records: [{ value: "?" }] }, "records[0].value"],
  [{ records: [{}], match_offset: 0 }, "match_offset"],
] as const) {
  test(`without a partition, ${JSON.stringify(body)} is 400 naming ${field}`, async () => {
    const url = `${client.streamUrl("refused")}/records`;
    assertError(await ask(url, { body }), 400, "invalid_argument", field);
  });
}

test("an append to very many partitions has its token in the body, and no header that clients can't take", async () => {
  await client.createStream("wide", { partitions: 10_000 });
  const records = Array.from({ length: 5_000 }, (_, i) => ({ key: base64(`key-${i}`) }));
  const done = await ask(`${client.streamUrl("wide")}/records`, { body: { records } });
  assert.equal(done.status, 200, done.text);
  assert.equal(done.json.token.length, done.json.appends.length);
  assert.ok(done.json.appends.length > 3_000);
  assert.equal(done.headers.get("service-consistency-token"), null);
});

test("an append that arrives in pieces is one append, whatever its size", async () => {
  const { hostname, port } = new URL(server.url);
  await client.createStream("pieces");
  const path = new URL(client.recordsUrl("pieces")).pathname;
  let offset = 0;
  for (const bytes of [3, 300, 3_000, 12_000, 20_000, 30_000, 45_000]) {
    const body = JSON.stringify({ records: [{ value: Buffer.alloc(bytes, "v").toString("base64") }] });
    const head = `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    for (const cut of [0, 1, Math.floor(body.length / 2), body.length - 1]) {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      const pieces = [head, body.slice(0, cut), body.slice(cut)].filter((piece) => piece !== "");
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk.toString("latin1");
      });
      for (const piece of pieces) {
        await new Promise((resolve) => socket.write(piece, resolve));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      while (!answer.includes('"token"') && !answer.includes('"error"')) await once(socket, "data");
      assert.match(
        answer,
        new RegExp(`^HTTP/1.1 200 [\\s\\S]*"base_offset":${offset++},`),
        `${bytes} bytes cut at ${cut}`,
      );
      socket.destroy();
    }
  }
});
