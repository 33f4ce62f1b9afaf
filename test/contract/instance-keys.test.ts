import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { assertError, eventually } from "../support/streams.ts";

const boss = "b".repeat(40);
let dataDir: string;
let server: ServerProcess;
const env = { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `boss:admin:${boss}` };
before(async () => {
  dataDir = await temporaryFolder();
  server = await ServerProcess.start({ dataDir, env });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

const as = (key: string) => ({ authorization: `Bearer ${key}` });
const call = (path: string, options: Parameters<typeof ask>[1] = {}, key = boss) =>
  ask(`${server.url}/v1/${path}`, { ...options, headers: { ...as(key), ...options.headers } });

interface Entry {
  readonly sequence: number;
  readonly action: string;
  readonly principal: string | null;
  readonly target: string | null;
  readonly outcome: string;
}

const audited = async (query = ""): Promise<readonly Entry[]> => (await call(`instance/audit${query}`)).json.entries;

test("a key is created, works within its scope, is listed without itself, and is revoked", async () => {
  assert.equal((await call("namespaces", { body: { name: "shop" } })).status, 201);
  assert.equal((await call("namespaces", { body: { name: "other" } })).status, 201);
  const made = await call("instance/keys", {
    body: { name: "till", role: "reader", namespace: "shop", lifetime_ms: 60_000 },
  });
  assert.equal(made.status, 201, made.text);
  const { key, ...told } = made.json;
  assert.deepEqual([told.name, told.role, told.namespace, told.status], ["till", "reader", "shop", "live"]);
  assert.ok(Date.parse(told.expires_at) > Date.parse(told.created_at));
  assert.equal((await call("namespaces/shop/streams", {}, key)).status, 200);
  assert.equal((await call("namespaces/other/streams", {}, key)).status, 403);
  assert.equal((await call("namespaces/shop/streams", { body: { name: "s" } }, key)).status, 403);
  const listed = await call("instance/keys");
  assert.deepEqual(listed.json.keys, [told]);
  assert.ok(!listed.text.includes(key));
  assertError(await call("instance/keys", { body: { name: "till", role: "admin" } }), 409, "already_exists");
  const revoked = await call("instance/keys/till", { method: "DELETE" });
  assert.deepEqual([revoked.status, revoked.json.status], [200, "revoked"]);
  assert.equal((await call("namespaces/shop/streams", {}, key)).status, 401);
  assertError(await call("instance/keys/till", { method: "DELETE" }), 404, "not_found");
});

for (const [body, field] of [
  [{ role: "reader" }, "name"],
  [{ name: "a", role: "king" }, "role"],
  [{ name: "a", role: "reader", namespace: "no/name" }, "namespace"],
  [{ name: "a", role: "reader", lifetime_ms: 0 }, "lifetime_ms"],
  [{ name: "a", role: "reader", lifetime: 1 }, "lifetime"],
] as const) {
  test(`the key ${JSON.stringify(body)} is refused`, async () => {
    assertError(await call("instance/keys", { body }), 400, "invalid_argument", field);
  });
}

test("sign-ins, refusals and administrative acts are in the audit log, over a restart too", async () => {
  const { key } = (await call("instance/keys", { body: { name: "watched", role: "reader" } })).json;
  for (let i = 0; i < 3; i++) await call("namespaces", {}, key);
  await call("namespaces", {}, "wrong");
  await call("namespaces/shop", { method: "DELETE" }, key);
  const of = (entries: readonly Entry[], principal: string | null, action: string) =>
    entries.filter((each) => each.principal === principal && each.action === action);
  const isComplete = (entries: readonly Entry[]) =>
    of(entries, "apikey:watched", "DELETE /v1/namespaces/:ns").length === 1 &&
    of(entries, null, "sign_in_refused").length > 0;
  const entries = await eventually(() => audited(), isComplete);
  assert.equal(of(entries, "apikey:watched", "sign_in").length, 1, "once, not with each request");
  assert.equal(of(entries, "apikey:watched", "DELETE /v1/namespaces/:ns")[0]!.outcome, "403");
  const [made] = of(entries, "apikey:boss", "POST /v1/instance/keys");
  assert.deepEqual([made!.target, made!.outcome], ["/v1/instance/keys/watched", "ok"]);
  for (const each of entries) assert.ok(!JSON.stringify(each).includes(key), "no secret");
  const [page, rest] = [await audited("?limit=2"), await audited(`?before=${entries[1]!.sequence}`)];
  assert.deepEqual([...page.slice(-2), ...rest].slice(-rest.length), rest);
  assert.ok(rest.every(({ sequence }) => sequence < entries[1]!.sequence));

  await server.stop();
  server = await ServerProcess.start({ dataDir, env });
  const hasGrown = (found: readonly Entry[]) => found[0]!.sequence > entries[0]!.sequence;
  const later = await eventually(() => audited(), hasGrown);
  assert.deepEqual(later.slice(-entries.length), entries);
});

test("an administrative RPC is noted", async () => {
  const path = "service.collection.v1.NamespaceService/CreateNamespace";
  const { status } = await ask(`${server.url}/${path}`, { body: { name: "by-rpc" }, headers: as(boss) });
  assert.equal(status, 200);
  await eventually(
    () => audited(),
    (entries) => entries.some(({ action }) => action === path),
  );
});

for (const [door, base] of [
  ["REST", () => `${server.url}/v1/namespaces/by-live/live/mutate`],
  ["RPC", () => `${server.live}/service.live.v1.LiveService/Mutate`],
] as const) {
  test(`a live table that is made over ${door} is noted, a document is not`, async () => {
    await call("namespaces", { body: { name: "by-live" } });
    const mutate = async (name: string, args: object) => {
      const body =
        door === "REST" ? { function: name, args } : { namespace: "by-live", call: { function: name, args } };
      const { status } = await ask(base(), { body, headers: as(boss) });
      assert.equal(status, 200);
    };
    const before = (await audited())[0]!.sequence;
    await mutate("_tables:create", { table: door });
    await mutate("_tables:insert", { table: door, document: {} });
    await mutate("_tables:events", { table: door, stream: null });
    const acts = await eventually(
      async () => {
        const entries = (await audited()).filter(({ sequence, action }) => sequence > before && !/^POST/.test(action));
        return entries.map(({ action, outcome }) => `${action} ${outcome}`).filter((each) => !/^sign_in /.test(each));
      },
      ({ length }) => length > 1,
    );
    assert.deepEqual(acts.sort(), ["_tables:create ok", "_tables:events ok"]);
  });
}
