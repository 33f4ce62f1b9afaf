import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { as, boss, keysServer } from "../support/keys-server.ts";
import { assertError, eventually } from "../support/streams.ts";

const { server, call, audited } = keysServer();

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
  [{ name: "a", role: "reader", namespaces: [] }, "namespaces"],
  [{ name: "a", role: "reader", namespace: "a", namespaces: ["b"] }, "namespaces"],
  [{ name: "a", role: "king" }, "role"],
  [{ name: "a", role: "reader", namespace: "no/name" }, "namespace"],
  [{ name: "a", role: "reader", lifetime_ms: 0 }, "lifetime_ms"],
  [{ name: "a", role: "reader", lifetime: 1 }, "lifetime"],
] as const) {
  test(`the key ${JSON.stringify(body)} is refused`, async () => {
    assertError(await call("instance/keys", { body }), 400, "invalid_argument", field);
  });
}

test("administrative RPCs are noted with what they act on", async () => {
  const schema = { fields: [{ name: "title", kind: { text: {} } }] };
  const add = (alias: string) => ({ add: { alias, collection: "items" } });
  for (const [method, body, namespace, target] of [
    ["NamespaceService/CreateNamespace", { name: "by-rpc" }, null, ""],
    [
      "CollectionService/CreateCollection",
      { namespace: "by-rpc", name: "items", schema },
      "by-rpc",
      "/collections/items",
    ],
    [
      "CollectionService/UpdateAliases",
      { namespace: "by-rpc", actions: [add("a"), add("b")] },
      "by-rpc",
      "/aliases/a,b",
    ],
    ["CollectionService/DropCollection", { namespace: "by-rpc", collection: "items" }, "by-rpc", "/collections/items"],
  ] as const) {
    const path = `service.collection.v1.${method}`;
    const { status, text } = await ask(`${server().url}/${path}`, { body, headers: as(boss) });
    assert.equal(status, 200, text);
    const entries = await eventually(
      () => audited(),
      (found) => found.some(({ action }) => action === path),
    );
    const entry = entries.find(({ action }) => action === path)!;
    assert.deepEqual([entry.namespace, entry.target], [namespace, `/v1/namespaces/by-rpc${target}`]);
  }
});

for (const [door, base] of [
  ["REST", () => `${server().url}/v1/namespaces/by-live/live/mutate`],
  ["RPC", () => `${server().live}/service.live.v1.LiveService/Mutate`],
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
        return entries
          .map(({ action, target, outcome }) => `${action} ${target} ${outcome}`)
          .filter((each) => !/^sign_in /.test(each));
      },
      ({ length }) => length > 1,
    );
    const table = `/v1/namespaces/by-live/live/${door}`;
    assert.deepEqual(acts.sort(), [`_tables:create ${table} ok`, `_tables:events ${table} ok`]);
  });
}
