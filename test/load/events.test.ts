import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EventClient } from "../support/events.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
let client: EventClient;
before(async () => {
  server = await ServerProcess.start();
  client = await EventClient.create(server.url, "events");
});
after(() => server[Symbol.asyncDispose]());

test("100,000 events in one request are taken", async () => {
  await client.createStream("many");
  const events = Array.from({ length: 100_000 }, (_, i) => ({ id: `m${i}` }));
  const places = await client.append("many", events);
  assert.equal(places.length, events.length);
  assert.deepEqual(places.at(-1), { status: "appended", partition: 0, offset: events.length - 1 });
  const again = await client.append("many", events.slice(-2));
  assert.deepEqual(
    again.map(({ status, offset }) => [status, offset]),
    [
      ["duplicate", events.length - 2],
      ["duplicate", events.length - 1],
    ],
  );
});

test("a stream without events is passed in steps", async () => {
  await client.createStream("plain");
  const records = Array.from({ length: 20_000 }, () => ({ value: "v", headers: { a: "1", b: "2" } }));
  for (let i = 0; i < 4; i++) await client.records("plain", records);
  await client.append("plain", { id: "behind" });
  let offset = 0;
  let steps = 0;
  for (;;) {
    const page = await client.get("plain", `offset=${offset}`);
    const next = Number(page.headers.get("service-next-offset"));
    steps++;
    assert(next > offset, "every answer moves on");
    if (page.json.length > 0) break;
    offset = next;
  }
  assert(steps > 1);
});
