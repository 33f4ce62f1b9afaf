import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { as, type Entry, keysServer } from "../support/keys-server.ts";
import { assertError, eventually } from "../support/streams.ts";

const { server, call, audited, restart } = keysServer();

test("a key for several namespaces works in each of them and nowhere else", async () => {
  for (const name of ["one", "two", "three"]) await call("namespaces", { body: { name } });
  const body = { name: "both", role: "admin", namespaces: ["two", "one", "two"] };
  const { status, json, text } = await call("instance/keys", { body });
  assert.equal(status, 201, text);
  assert.deepEqual([json.namespace, json.namespaces], [null, ["one", "two"]]);
  const mine = (path: string, options = {}) => call(path, options, json.key);
  for (const [name, want] of [
    ["one", 201],
    ["two", 201],
    ["three", 403],
  ] as const) {
    assert.equal((await mine(`namespaces/${name}/streams`, { body: { name: "s" } })).status, want, name);
  }
  assert.deepEqual(
    (await mine("namespaces")).json.namespaces.map((each: { name: string }) => each.name),
    ["one", "two"],
  );
  assert.deepEqual((await mine("access")).json, { role: "admin", namespace: null, namespaces: ["one", "two"] });
  assertError(await mine("instance/keys"), 403, "permission_denied");
  const rpc = (namespace: string) =>
    ask(`${server().url}/service.collection.v1.CollectionService/ListCollections`, {
      body: { namespace },
      headers: as(json.key),
    });
  assert.deepEqual([(await rpc("two")).status, (await rpc("three")).status], [200, 403]);
  await restart();
  assert.equal((await mine("namespaces/two/streams")).status, 200);
  assert.equal((await mine("namespaces/three/streams")).status, 403);
});

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

  await restart();
  const hasGrown = (found: readonly Entry[]) => found[0]!.sequence > entries[0]!.sequence;
  const later = await eventually(() => audited(), hasGrown);
  assert.deepEqual(later.slice(-entries.length), entries);
});
