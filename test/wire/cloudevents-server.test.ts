import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CloudEvent, emitterFor, HTTP, httpTransport, Mode } from "cloudevents";
import { batchType, EventClient, rawRequest } from "../support/events.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/** The official SDK against the server as a user runs it: what it posts it reads back, in each mode. */

let server: ServerProcess;
let client: EventClient;
let streams = 0;

before(async () => {
  server = await ServerProcess.start();
  client = await EventClient.create(server.url, "sdk");
});
after(() => server[Symbol.asyncDispose]());

async function newStream(): Promise<string> {
  const name = `s${streams++}`;
  await client.createStream(name);
  return name;
}

async function readBatch(stream: string): Promise<CloudEvent<unknown>[]> {
  const { headers, body } = await rawRequest(`${client.eventsUrl(stream, 0)}?offset=0`, "GET");
  return HTTP.toEvent({ headers, body: body.toString() }) as CloudEvent<unknown>[];
}

async function readBinary(stream: string): Promise<CloudEvent<unknown>> {
  const { headers, body } = await rawRequest(`${client.eventsUrl(stream, 0)}?offset=0&mode=binary`, "GET");
  return HTTP.toEvent({ headers, body: body.length === 0 ? undefined : body.toString() }) as CloudEvent<unknown>;
}

const common = { id: "7", source: "/shop", type: "order.created", time: "2024-05-06T07:08:09.000Z" };
const json = "application/json";
const cases: readonly [string, Record<string, unknown>][] = [
  ["a JSON object", { datacontenttype: json, data: { total: 12.5, items: ["a", null] } }],
  ["text", { datacontenttype: "text/plain", data: "three words here" }],
  ["XML", { datacontenttype: "application/xml", data: "<a b='c'/>" }],
  [
    "every attribute",
    {
      subject: "order-7",
      dataschema: "https://schema.example/order",
      partitionkey: "k",
      region: "eu",
      data: {},
      datacontenttype: json,
    },
  ],
];

for (const mode of [Mode.BINARY, Mode.STRUCTURED]) {
  describe(`the SDK posts in ${mode} mode`, () => {
    for (const [what, members] of cases) {
      test(`${what} comes back in both modes`, async () => {
        const stream = await newStream();
        const sent = new CloudEvent({ ...common, ...members });
        await emitterFor(httpTransport(client.eventsUrl(stream)), { mode })(sent);
        const [fromBatch] = await readBatch(stream);
        assert.deepEqual(fromBatch!.toJSON(), sent.toJSON());
        fromBatch!.validate();
        assert.deepEqual((await readBinary(stream)).toJSON(), sent.toJSON());
      });
    }

    test("the same event again is a duplicate", async () => {
      const stream = await newStream();
      const sent = new CloudEvent({ ...common, data: 1 });
      const { headers, body } = HTTP[mode === Mode.BINARY ? "binary" : "structured"](sent);
      const post = () =>
        ask(client.eventsUrl(stream), { headers: headers as Record<string, string>, body: body as string });
      assert.equal((await post()).json.events[0].status, "appended");
      assert.equal((await post()).json.events[0].status, "duplicate");
      assert.equal((await readBatch(stream)).length, 1);
    });
  });
}

test("events that the SDK wrote as JSON make a batch", async () => {
  const stream = await newStream();
  const sent = ["a", "b", "c"].map(
    (id) => new CloudEvent({ ...common, id, data: { id }, datacontenttype: json, urgent: false }),
  );
  const body = `[${sent.map((event) => event.toString()).join(",")}]`;
  const done = await ask(client.eventsUrl(stream), { headers: { "content-type": batchType }, body });
  assert.equal(done.status, 200, done.text);
  assert.deepEqual(
    (await readBatch(stream)).map((event) => event.toJSON()),
    sent.map((event) => event.toJSON()),
  );
});
