import assert from "node:assert/strict";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, test } from "node:test";
import { CloudEvent, emitterFor, HTTP, httpTransport, Kafka, type KafkaMessage, Mode } from "cloudevents";
import { batchJsonType, formatBinary, parseEvents } from "../../src/edge/rest/events/cloudevents.ts";
import type { CloudEvent as Event } from "../../src/engine/event/cloud-event.ts";
import { eventOfRecord, recordOfEvent } from "../../src/engine/event/record-codec.ts";
import { formatBatch } from "../support/event-batch.ts";

/** The official SDK against the codec, over a socket: it posts events, they become records, and it reads them back. */

const stored: Event[] = [];
const failures: unknown[] = [];

async function serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
  if (incoming.method === "POST") {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { rawHeaders: headers } = incoming;
    const { events } = parseEvents({
      headers,
      contentType: incoming.headers["content-type"],
      body: Buffer.concat(chunks),
    });
    for (const event of events) stored.push(eventOfRecord(recordOfEvent(event))!);
    reply.end();
  } else if (incoming.url === "/binary") {
    const { headers, body } = formatBinary(stored[0]!);
    reply.writeHead(200, headers).end(body);
  } else {
    reply.writeHead(200, { "content-type": batchJsonType }).end(formatBatch(stored));
  }
}

const server = createServer((incoming, reply) => {
  serve(incoming, reply).catch((error: unknown) => {
    failures.push(error);
    reply.writeHead(400).end();
  });
});
let url = "";

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  stored.length = 0;
  failures.length = 0;
});

function get(path: string): Promise<{ headers: Record<string, string>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const call = request(url + path, { agent: false }, async (reply) => {
      const chunks: Buffer[] = [];
      for await (const chunk of reply) chunks.push(chunk as Buffer);
      resolve({ headers: reply.headers as Record<string, string>, body: Buffer.concat(chunks) });
    });
    call.on("error", reject).end();
  });
}

async function getBatch(): Promise<CloudEvent<unknown>[]> {
  const { headers, body } = await get("/batch");
  return HTTP.toEvent({ headers, body: body.toString() }) as CloudEvent<unknown>[];
}

const common = { id: "7", source: "/shop", type: "order.created", time: "2024-05-06T07:08:09.000Z" };
const cases: [string, Record<string, unknown>][] = [
  ["a JSON object", { datacontenttype: "application/json", data: { total: 12.5, items: ["a", null] } }],
  ["a JSON array", { datacontenttype: "application/json", data: [1, 2, 3] }],
  ["text", { datacontenttype: "text/plain", data: "three words here" }],
  ["XML", { datacontenttype: "application/xml", data: "<a b='c'/>" }],
  ["no data", { datacontenttype: "application/json" }],
  [
    "every attribute",
    {
      subject: "order-7",
      dataschema: "https://schema.example/order",
      partitionkey: "k",
      region: "eu",
      data: {},
      datacontenttype: "application/json",
    },
  ],
];

for (const mode of [Mode.BINARY, Mode.STRUCTURED]) {
  describe(`SDK posts in ${mode} mode and reads back`, () => {
    for (const [what, members] of cases) {
      // The SDK's own transport cannot send a binary-mode request without a body.
      if (mode === Mode.BINARY && !("data" in members)) continue;
      test(what, async () => {
        const sent = new CloudEvent({ ...common, ...members });
        await emitterFor(httpTransport(url), { mode })(sent);
        assert.deepEqual(failures, []);
        assert.equal(stored.length, 1);
        const [fromBatch] = await getBatch();
        assert.deepEqual(fromBatch!.toJSON(), sent.toJSON());
        fromBatch!.validate();
        const { headers, body } = await get("/binary");
        const fromBinary = HTTP.toEvent({ headers, body: body.length === 0 ? undefined : body.toString() });
        assert.deepEqual((fromBinary as CloudEvent<unknown>).toJSON(), sent.toJSON());
      });
    }

    test("bytes", async () => {
      const bytes = Uint8Array.of(0, 255, 128, 10);
      await emitterFor(httpTransport(url), { mode })(
        new CloudEvent({ ...common, datacontenttype: "application/octet-stream", data: bytes }),
      );
      assert.deepEqual(failures, []);
      const [read] = await getBatch();
      assert.deepEqual(Uint8Array.from(read!.data as Uint8Array), bytes);
      assert.deepEqual(Uint8Array.from((await get("/binary")).body), bytes);
    });
  });
}

test("an integer and a boolean extension keep their types from structured mode to batch mode", async () => {
  const sent = new CloudEvent({ ...common, data: 1, retries: 3, urgent: false });
  await emitterFor(httpTransport(url), { mode: Mode.STRUCTURED })(sent);
  const [read] = await getBatch();
  assert.equal(read!["retries"], 3);
  assert.equal(read!["urgent"], false);
});

test("several events come back as one batch, in order", async () => {
  const emit = emitterFor(httpTransport(url), { mode: Mode.STRUCTURED });
  for (const id of ["a", "b", "c"]) await emit(new CloudEvent({ ...common, id, data: { id } }));
  assert.deepEqual(
    (await getBatch()).map(({ id }) => id),
    ["a", "b", "c"],
  );
});

test("a header sent twice is seen as such on the socket", async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = [
      "Host",
      "x",
      "ce-specversion",
      "1.0",
      "ce-source",
      "/s",
      "ce-type",
      "t",
      "ce-id",
      "1",
      "ce-id",
      "2",
    ];
    const call = request(url, { method: "POST", headers, agent: false }, (reply) => resolve(reply.resume().statusCode));
    call.on("error", reject).end();
  });
  assert.equal(status, 400);
  assert.match(String(failures[0]), /id: is given twice/);
});

describe("the SDK's Kafka binding", () => {
  const sent = new CloudEvent({
    ...common,
    partitionkey: "k",
    region: "eu",
    datacontenttype: "text/plain",
    data: "hi there",
  });

  test("reads our records", () => {
    const draft = parseEvents({
      headers: [],
      contentType: "application/cloudevents+json",
      body: Buffer.from(sent.toString()),
    });
    const record = recordOfEvent(draft.events[0]!);
    const headers = Object.fromEntries(record.headers.map(({ key, value }) => [key, Buffer.from(value!).toString()]));
    const message = { headers, key: Buffer.from(record.key!).toString(), value: Buffer.from(record.value!).toString() };
    const read = Kafka.toEvent(message as unknown as KafkaMessage) as CloudEvent<unknown>;
    assert.deepEqual(read.toJSON(), sent.toJSON());
  });

  for (const mode of ["binary", "structured"] as const) {
    test(`its ${mode} records are read`, () => {
      const message = Kafka[mode](sent) as KafkaMessage<string>;
      const headers = Object.entries(message.headers)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => ({ key, value: Buffer.from(String(value)) }));
      const read = eventOfRecord({
        headers,
        key: Buffer.from(String(message.key)),
        value: Buffer.from(String(message.value)),
      });
      assert(read !== undefined);
      assert.deepEqual(JSON.parse(formatBatch([read]).toString()), [JSON.parse(sent.toString())]);
    });
  }
});
