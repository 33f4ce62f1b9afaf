import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { loadVectors, type RecordVector, type RequestVector, requestBody } from "../support/event-vectors.ts";
import { EventClient, rawRequest } from "../support/events.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/** Every vector of the CloudEvents rules over a socket, against the server as a user runs it. */

let server: ServerProcess;
let client: EventClient;
let streams = 0;

before(async () => {
  server = await ServerProcess.start();
  client = await EventClient.create(server.url, "vectors");
});
after(() => server[Symbol.asyncDispose]());

/** Vectors share ids, so each has a stream of its own. */
async function newStream(): Promise<string> {
  const name = `v${streams++}`;
  await client.createStream(name);
  return name;
}

async function send(stream: string, request: RequestVector["request"]) {
  const url = client.eventsUrl(stream);
  const { status, body: answer } = await rawRequest(url, "POST", request.headers, requestBody(request));
  return { status, json: JSON.parse(answer.toString()) };
}

async function checkRefused({ request, want }: RequestVector): Promise<void> {
  const stream = await newStream();
  const { status, json } = await send(stream, request);
  assert.equal(status, want.status, JSON.stringify(json));
  assert.equal(json.error, status === 415 ? "unsupported_media_type" : "invalid_argument");
  if (want.field !== undefined) {
    assert.equal(json.field, want.field);
    assert(json.message.startsWith(`${want.field}: `), json.message);
  }
  assert.deepEqual(await client.ids(stream), [], "nothing was written");
}

async function checkAccepted({ request, want }: RequestVector): Promise<void> {
  const stream = await newStream();
  const { status, json } = await send(stream, request);
  assert.equal(status, 200, JSON.stringify(json));
  const events = want.events!;
  const distinct = new Set(events.map((event) => JSON.stringify([Reflect.get(event as object, "id")])));
  assert.equal(json.events.length, events.length);
  assert.equal(json.events.filter((event: { status: string }) => event.status === "appended").length, distinct.size);
  if (distinct.size < events.length) return;
  const page = await client.get(stream, "offset=0");
  assert.equal(page.headers.get("content-type"), "application/cloudevents-batch+json");
  assert.deepEqual(page.json, events);
  for (const [offset, binary] of (want.binary ?? []).entries()) await checkBinary(stream, offset, binary);
  if (want.records !== undefined) await checkRecords(stream, want.records);
}

async function checkBinary(stream: string, offset: number, want: { headers: Record<string, string>; body: string }) {
  const reply = await rawRequest(`${client.eventsUrl(stream, 0)}?offset=${offset}&mode=binary`, "GET");
  assert.equal(reply.status, 200);
  const shown = Object.entries(reply.headers).filter(([name]) => name.startsWith("ce-") || name === "content-type");
  assert.deepEqual(Object.fromEntries(shown), want.headers);
  assert.equal(reply.body.toString(), want.body);
}

async function checkRecords(stream: string, want: NonNullable<RequestVector["want"]["records"]>): Promise<void> {
  const page = await ask(`${client.url}/streams/${stream}/partitions/0/records?offset=0`);
  type Stored = { key?: string; value?: string; headers?: { key: string; value: string }[] };
  const decode = (text: string | undefined) => (text === undefined ? null : Buffer.from(text, "base64").toString());
  assert.deepEqual(
    (page.json.records as Stored[]).map(({ key, value, headers }) => ({
      key: decode(key),
      headers: Object.fromEntries((headers ?? []).map((header) => [header.key, decode(header.value)])),
      value: decode(value),
    })),
    want,
  );
}

for (const file of ["media-types", "binary-mode", "structured-mode", "attributes", "batch-mode"]) {
  describe(`over a socket: CloudEvents ${file}`, () => {
    for (const vector of loadVectors<RequestVector>(file)) {
      const check = vector.want.status === undefined ? checkAccepted : checkRefused;
      test(`${vector.name} (${vector.rule})`, () => check(vector));
    }
  });
}

describe("over a socket: CloudEvents records", () => {
  for (const { name, rule, record, want } of loadVectors<RecordVector>("records")) {
    test(`${name} (${rule})`, async () => {
      const stream = await newStream();
      const encode = (text: string) => Buffer.from(text).toString("base64");
      const headers = record.headers.map(([key, value]) => ({
        key,
        ...(value === null ? {} : { value: encode(value) }),
      }));
      for (const [key, value] of record.headers_base64 ?? []) headers.push({ key, value });
      const value = record.value_base64 ?? (record.value === undefined ? undefined : encode(record.value));
      const stored = { headers, value, key: record.key === undefined ? undefined : encode(record.key) };
      const done = await ask(`${client.url}/streams/${stream}/partitions/0/records`, { body: { records: [stored] } });
      assert.equal(done.status, 200, done.text);
      const page = await client.get(stream, "offset=0");
      assert.deepEqual(page.json, want.event === null ? [] : [want.event]);
      assert.equal(page.headers.get("service-next-offset"), "1");
    });
  }
});
