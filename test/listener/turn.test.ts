import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { FastHandler } from "../../src/listener/fast-lane.ts";
import type { Handler } from "../../src/listener/registry.ts";
import { http2Client, http2Request, RawClient, type Started, start } from "./harness.ts";

/** No time for more than one request in a turn of the event loop, however few there are. */
const oneEach = { turnBoundFrom: 0, turnMs: -1 };
const clients = 20;

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
}

async function connected(port: number): Promise<RawClient> {
  const client = new RawClient(port).send(get("/first"));
  await client.until(/first$/);
  client.text = "";
  return client;
}

/** Notes what is begun, on the lane or beside it. */
function startNoting(t: TestContext, isFast: boolean, limits: object = oneEach) {
  const begun: string[] = [];
  const fast: FastHandler = ({ head }, reply) => {
    begun.push(head.target);
    reply.send(200, [], head.target);
    return true;
  };
  const handler: Handler = (request, response) => {
    begun.push(request.url!);
    (response as { end(text: string): void }).end(request.url!);
  };
  const started: Promise<Started> = start(t, handler, limits, isFast ? { fast } : {});
  return { begun, started };
}

for (const isFast of [true, false]) {
  const where = isFast ? "on the lane" : "of Node's server";
  test(`requests ${where} wait for their turn in order, and a health check does not`, async (t) => {
    const { begun, started } = startNoting(t, isFast);
    const { port, listener } = await started;
    const all = await Promise.all(Array.from({ length: clients }, () => connected(port)));
    const probe = await connected(port);
    begun.length = 0;
    for (const [i, client] of all.entries()) client.send(get(`/${i}`));
    probe.send(get("/health"));
    await Promise.all(all.map((client, i) => client.until(new RegExp(`/${i}$`))));
    await probe.until(/health$/);
    const place = begun.indexOf("/health");
    assert.ok(place >= 0 && place < clients / 2, `asked last, it was begun after ${place} of ${clients}`);
    const others = begun.filter((each) => each !== "/health");
    assert.deepEqual(
      others,
      [...all.keys()].map((i) => `/${i}`),
    );
    assert.equal(listener.inFlight, 0);
  });

  test(`requests ${where} whose first bytes are few wait for their turn too`, async (t) => {
    const { started } = startNoting(t, isFast);
    const { port } = await started;
    const all = await Promise.all(Array.from({ length: clients }, () => connected(port)));
    // Those with an even number take up the turn.
    const firstOf = (i: number) => (i % 2 === 0 ? Infinity : 1 + (i % 11));
    for (const [i, client] of all.entries()) client.send(get(`/${i}`).slice(0, firstOf(i)));
    await Promise.all(all.map((client, i) => (i % 2 === 0 ? client.until(new RegExp(`/${i}$`)) : undefined)));
    for (const [i, client] of all.entries()) if (i % 2 === 1) client.send(get(`/${i}`).slice(firstOf(i)));
    await Promise.all(all.map((client, i) => client.until(new RegExp(`/${i}$`))));
  });

  test(`a client ${where} that leaves while it waits is forgotten`, async (t) => {
    const { begun, started } = startNoting(t, isFast);
    const { port, listener } = await started;
    const all = await Promise.all(Array.from({ length: clients }, () => connected(port)));
    begun.length = 0;
    for (const [i, client] of all.entries()) client.send(get(`/${i}`));
    for (const client of all.slice(clients / 2)) client.socket.resetAndDestroy();
    await Promise.all(all.slice(0, clients / 2).map((client, i) => client.until(new RegExp(`/${i}$`))));
    while (listener.connections > clients / 2) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(listener.inFlight, 0);
  });

  test(`requests ${where} that wait for their turn are answered before a drained listener closes`, async (t) => {
    const { started } = startNoting(t, isFast);
    const { port, listener } = await started;
    const all = await Promise.all(Array.from({ length: clients }, () => connected(port)));
    for (const [i, client] of all.entries()) client.send(get(`/${i}`));
    while (listener.inFlight < clients / 2) await new Promise((resolve) => setImmediate(resolve));
    await listener.drain(10_000);
    const told = await Promise.all(all.map(({ closed }) => closed));
    const answered = told.filter((text, i) => text.endsWith(`/${i}`)).length;
    assert.ok(answered >= clients / 2, `${answered} of ${clients}`);
  });
}

test("a peer that closes its half is answered though it waits and leaves the lane", async (t) => {
  const quick: Handler = (request, response) => (response as { end(text: string): void }).end(`to ${request.url}`);
  const { port } = await start(t, quick, oneEach, { fast: () => false });
  const all = await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new RawClient(port);
      await new Promise((resolve) => client.socket.once("connect", resolve));
      return client;
    }),
  );
  for (const [i, client] of all.entries()) client.socket.end(get(`/${i}`));
  const told = await Promise.all(all.map(({ closed }) => closed));
  for (const [i, text] of told.entries()) assert.match(text, new RegExp(`to /${i}$`));
});

test("requests of one HTTP/2 connection wait for their turn too, and all are answered", async (t) => {
  const { begun, started } = startNoting(t, false);
  const { listener } = await started;
  const session = http2Client(t, listener.address.url);
  await http2Request(session, { ":path": "/first" });
  begun.length = 0;
  const paths = [...Array.from({ length: clients }, (_, i) => `/${i}`), "/health"];
  const answers = await Promise.all(paths.map((path) => http2Request(session, { ":path": path })));
  assert.deepEqual(
    answers.map(({ body }) => body),
    paths,
  );
  assert.ok(begun.indexOf("/health") < clients / 2, begun.join(" "));
});

for (const limit of [{ turnWaitingMax: 3 }, { turnWaitingBytesMax: 200 }]) {
  test(`beyond ${JSON.stringify(limit)} requests do not wait`, async (t) => {
    const { begun, started } = startNoting(t, true, { ...oneEach, ...limit });
    const { port } = await started;
    const all = await Promise.all(Array.from({ length: clients }, () => connected(port)));
    begun.length = 0;
    for (const [i, client] of all.entries()) client.send(get(`/${i}`));
    await Promise.all(all.map((client, i) => client.until(new RegExp(`/${i}$`))));
    assert.notDeepEqual(
      begun,
      [...all.keys()].map((i) => `/${i}`),
    );
    assert.equal(begun.length, clients);
  });
}
