import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import mysql from "mysql2/promise";
import pg from "pg";
import { CommandStatementQuerySchema } from "../../src/gen/arrow/flight/protocol/FlightSql_pb.ts";
import { QueryService } from "../../src/gen/service/collection/v1/query_pb.ts";
import { ask, base64 } from "../support/http.ts";
import { liveClient } from "../support/live.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { assertError, eventually } from "../support/streams.ts";
import { FlightTestClient } from "../wire/flight/client.ts";
import { infoOf } from "../wire/rpc/clients.ts";

const boss = "b".repeat(40);
const env = { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `boss:admin:${boss}` };
let dataDir: string;
let server: ServerProcess;
before(async () => {
  dataDir = await temporaryFolder();
  server = await ServerProcess.start({ dataDir, env });
  await call("namespaces", { body: { name: "shop" } });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

const bearer = (key = boss) => ({ authorization: `Bearer ${key}` });
const call = (path: string, options: Parameters<typeof ask>[1] = {}, key = boss) =>
  ask(`${server.url}/v1/${path}`, { ...options, headers: { ...bearer(key), ...options.headers } });
const setQuota = (namespace: string, body: object) => call(`namespaces/${namespace}/quota`, { method: "PUT", body });
const kilobyte = base64("x".repeat(1_000));
const append = (namespace: string, headers = {}) =>
  call(`namespaces/${namespace}/streams/s/partitions/0/records`, { headers, body: { records: [{ value: kilobyte }] } });

async function namespaceOf(name: string): Promise<void> {
  assert.equal((await call("namespaces", { body: { name } })).status, 201);
  assert.equal((await call(`namespaces/${name}/streams`, { body: { name: "s" } })).status, 201);
}

/** Resolves with what a call is refused for once the requests of the moment are used up. */
async function refusalOf<T>(attempt: () => Promise<unknown>): Promise<T> {
  for (let i = 0; i < 100; i++) {
    try {
      await attempt();
    } catch (error) {
      return error as T;
    }
  }
  return assert.fail("nothing was refused");
}

test("a namespace has no quota until one is set, and shows what it uses", async () => {
  await namespaceOf("plain");
  const before = await call("namespaces/plain/quota");
  assert.deepEqual(before.json, { max_bytes: null, max_requests_per_second: null, used_bytes: 0 });
  assert.deepEqual((await setQuota("plain", { max_requests_per_second: 7 })).json, {
    max_bytes: null,
    max_requests_per_second: 7,
    used_bytes: 0,
  });
  assert.equal((await setQuota("plain", {})).json.max_requests_per_second, null);
  assertError(await call("namespaces/none/quota"), 404, "not_found");
  assertError(await setQuota("none", { max_bytes: 1 }), 404, "not_found");
});

for (const [body, field] of [
  [{ max_bytes: 0 }, "max_bytes"],
  [{ max_bytes: "1" }, "max_bytes"],
  [{ max_requests_per_second: 1.5 }, "max_requests_per_second"],
  [{ max_requests_per_second: 2_000_000 }, "max_requests_per_second"],
  [{ max_request: 1 }, "max_request"],
] as const) {
  test(`the quota ${JSON.stringify(body)} is refused`, async () => {
    assertError(await setQuota("shop", body), 400, "invalid_argument", field);
  });
}

test("who is bound by a quota sees it and can't change it", async () => {
  const { key } = (await call("instance/keys", { body: { name: "own", role: "admin", namespace: "shop" } })).json;
  assert.equal((await call("namespaces/shop/quota", {}, key)).status, 200);
  const changed = await call("namespaces/shop/quota", { method: "PUT", body: {} }, key);
  assertError(changed, 403, "permission_denied");
});

test("requests over the quota are refused on every edge, with when to come again", async () => {
  await namespaceOf("busy");
  await namespaceOf("quiet");
  const collection = { name: "c", schema: { fields: [{ name: "t", kind: "text" }] } };
  assert.equal((await call("namespaces/busy/collections", { body: collection })).status, 200);
  await setQuota("busy", { max_requests_per_second: 1 });
  const seen = new Set<string>();
  for (const path of ["streams", "streams/s/partitions/0/records?offset=0"]) {
    const refused = await refusalOf<Awaited<ReturnType<typeof ask>>>(async () => {
      const answer = await call(`namespaces/busy/${path}`);
      if (answer.status !== 200) throw answer;
    });
    assertError(refused, 429, "resource_exhausted");
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.deepEqual([refused.json.quota, refused.json.limit], ["max_requests_per_second", 1]);
    seen.add(refused.json.message);
  }
  assert.match([...seen][0]!, /^the quota of namespace "busy" is 1 requests a second; try again in \d+ ms$/);

  const transport = createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" });
  const queries = createClient(QueryService, transport);
  const rpc = ConnectError.from(
    await refusalOf(() => queries.search({ namespace: "busy", from: "c" }, { headers: bearer() })),
  );
  assert.equal(rpc.code, Code.ResourceExhausted);
  assert.equal(infoOf(rpc).reason, "resource_exhausted");
  assert.ok(Number(infoOf(rpc).metadata["retry_after_ms"]) > 0);

  const live = liveClient(server.live, bearer());
  const list = { namespace: "busy", call: { function: "_tables:list" } };
  assert.equal(ConnectError.from(await refusalOf(() => live.query(list))).code, Code.ResourceExhausted);
  const watched = await refusalOf(async () => {
    const stop = new AbortController();
    for await (const _ of live.watch({ namespace: "busy" }, { signal: stop.signal })) break;
    stop.abort();
  });
  assert.equal(ConnectError.from(watched).code, Code.ResourceExhausted);

  const flight = new FlightTestClient(server.url, { ...bearer(), namespace: "busy" });
  const refusedFlight = await refusalOf(() => flight.get(CommandStatementQuerySchema, { query: "SELECT 1" }));
  assert.equal(ConnectError.from(refusedFlight).code, Code.ResourceExhausted);
  assert.match(ConnectError.from(refusedFlight).message, /the quota of namespace "busy" is 1 requests a second/);

  const postgres = new pg.Client({ ...server.postgres, user: "boss", password: boss, database: "busy" });
  await postgres.connect();
  const denied = await refusalOf<{ code: string }>(() => postgres.query("SELECT count(*) FROM c"));
  assert.equal(denied.code, "53000");
  await postgres.end();
  const wire = await mysql.createConnection({
    ...server.mysql,
    user: "boss",
    password: boss,
    database: "busy",
  });
  const limited = await refusalOf<{ errno: number }>(() => wire.query("SELECT count(*) FROM c"));
  assert.equal(limited.errno, 1226);
  await wire.end();

  assert.equal((await call("namespaces/quiet/streams")).status, 200);
  await setQuota("busy", {});
  for (let i = 0; i < 20; i++) assert.equal((await call("namespaces/busy/streams")).status, 200);
});

test("writes over the quota of bytes are refused, what was written is replayed, and deleting makes room", async () => {
  await namespaceOf("full");
  const collection = { name: "c", schema: { fields: [{ name: "t", kind: "text" }] } };
  await call("namespaces/full/collections", { body: collection });
  const live = liveClient(server.live, bearer());
  const mutate = (name: string, args: object) =>
    live.mutate({ namespace: "full", call: { function: name, args: args as never } });
  await mutate("_tables:create", { table: "t" });
  const once = { "idempotency-key": "once" };
  assert.equal((await append("full", once)).status, 200);
  const write = (op: object) => call("namespaces/full/collections/c/documents", { body: { ops: [op] } });
  assert.equal((await write({ upsert: { id: 1, source: { t: "y".repeat(2_000) } } })).status, 200);
  await mutate("_tables:insert", { table: "t", document: { text: "z".repeat(3_000) } });

  const { used_bytes: used } = (await setQuota("full", { max_bytes: 1_000_000 })).json;
  assert.ok(used > 6_000 && used < 20_000, `${used} bytes are about what was written`);
  await setQuota("full", { max_bytes: used + 100 });
  const refused = await append("full");
  assertError(refused, 429, "resource_exhausted");
  assert.deepEqual([refused.json.quota, refused.json.limit], ["max_bytes", used + 100]);
  assert.equal(refused.headers.get("retry-after"), "60");
  assert.equal((await append("full", once)).headers.get("idempotency-replayed"), "true");
  const routed = await call("namespaces/full/streams/s/records", { body: { records: [{ value: kilobyte }] } });
  assertError(routed, 429, "resource_exhausted");
  const event = { specversion: "1.0", id: "1", source: "/s", type: "t", data: "x".repeat(1_000) };
  const type = { "content-type": "application/cloudevents+json" };
  const sent = await call("namespaces/full/streams/s/events", { headers: type, body: JSON.stringify(event) });
  assertError(sent, 429, "resource_exhausted");
  assertError(await write({ upsert: { id: 2, source: { t: "y".repeat(1_000) } } }), 429, "resource_exhausted");
  const insert = { table: "t", document: { text: "z".repeat(1_000) } };
  const rpc = ConnectError.from(await refusalOf(() => mutate("_tables:insert", insert)));
  assert.equal(rpc.code, Code.ResourceExhausted);

  assert.equal((await write({ delete: { id: 1 } })).status, 200);
  await eventually(
    () => append("full"),
    ({ status }) => status === 200,
  );
});

test("a link into a collection waits until there is room", async () => {
  await namespaceOf("linked");
  const collection = { name: "c", schema: { fields: [{ name: "t", kind: "text" }] } };
  await call("namespaces/linked/collections", { body: collection });
  const value = base64(JSON.stringify({ t: "w".repeat(1_000) }));
  const records = { records: [{ value }] };
  assert.equal((await call("namespaces/linked/streams/s/partitions/0/records", { body: records })).status, 200);
  const { used_bytes: used } = (await setQuota("linked", { max_bytes: 1_000_000 })).json;
  await setQuota("linked", { max_bytes: used + 10 });
  const link = { name: "l", source: "s", target: { kind: "collection", name: "c" }, options: { id: "offset" } };
  assert.equal((await call("namespaces/linked/links", { body: link })).status, 201);
  const detail = () => call("namespaces/linked/links/l");
  const stuck = await eventually(detail, ({ json }) => json.error !== undefined);
  assert.match(stuck.json.error, /quota/);
  await setQuota("linked", {});
  await eventually(detail, ({ json }) => json.lag[0].records === 0 && json.error === undefined);
});

test("a quota holds over a restart and goes with its namespace", async () => {
  await namespaceOf("kept");
  assert.equal((await append("kept")).status, 200);
  await setQuota("kept", { max_bytes: 1_200, max_requests_per_second: 1_000 });
  assertError(await append("kept"), 429, "resource_exhausted");
  await server[Symbol.asyncDispose]();
  server = await ServerProcess.start({ dataDir, env });
  assertError(await append("kept"), 429, "resource_exhausted");
  const metrics = await ask(`${server.url}/metrics`, { headers: bearer() });
  assert.match(metrics.text, /^service_quota_max_bytes\{namespace="kept"\} 1200$/m);
  assert.match(metrics.text, /^service_quota_used_bytes\{namespace="kept"\} 1\d\d\d$/m);
  assert.match(metrics.text, /^service_quota_refusals_total\{quota="max_bytes"\} 1$/m);
  await call("namespaces/kept/streams/s", { method: "DELETE" });
  assert.equal((await call("namespaces/kept", { method: "DELETE" })).status, 200);
  await namespaceOf("kept");
  for (let i = 0; i < 3; i++) assert.equal((await append("kept")).status, 200);
});
