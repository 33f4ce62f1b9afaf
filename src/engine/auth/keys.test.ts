import assert from "node:assert/strict";
import test from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { EngineError, type Reason } from "../errors.ts";
import { parseFixedKeys } from "./fixed-keys.ts";
import { isWellFormedKey } from "./key-text.ts";
import { ApiKeys, keyLimits } from "./keys.ts";
import type { Role } from "./principal.ts";

const dayMs = 24 * 3_600_000;

function open({ fixed = "", store = new MemoryStore(), clock = new SimulatedClock(Date.now()) } = {}) {
  const keys = new ApiKeys({
    store,
    clock,
    random: new NodeRandom(),
    fixed: parseFixedKeys("SERVICE_API_KEYS", fixed),
  });
  return { keys, store, clock };
}

function failsWith(reason: Reason, pattern?: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof EngineError, String(error));
    assert.equal(error.reason, reason);
    if (pattern !== undefined) assert.match(error.message, pattern);
    return true;
  };
}

test("a created key stands for its principal", async () => {
  const { keys } = open();
  const { key, info } = await keys.create({ name: "ci", role: "writer", namespaces: ["logs"] });
  assert.match(key, /^nek_[0-9a-f]{16}_[A-Za-z0-9_-]{49}$/);
  assert.equal(info.status, "live");
  assert.deepEqual(keys.verify(key), {
    id: "apikey:ci",
    kind: "service_account",
    displayName: "ci",
    role: "writer",
    namespaces: ["logs"],
    method: "apikey",
  });
});

test("the store holds no part of a key's secret", async () => {
  const { keys, store } = open();
  const { key } = await keys.create({ name: "ci", role: "writer" });
  const stored = [...store.range({})].map(({ key, value }) => `${Buffer.from(key)} ${Buffer.from(value)}`).join("\n");
  assert.match(stored, /"name":"ci"/);
  const secret = key.slice(21);
  for (let at = 0; at + 8 <= secret.length; at++) assert.ok(!stored.includes(secret.slice(at, at + 8)));
});

test("what is not exactly the key is unknown", async () => {
  const { keys } = open();
  const { key } = await keys.create({ name: "ci", role: "writer" });
  const { key: other } = await keys.create({ name: "other", role: "admin" });
  for (let at = 0; at < key.length; at++) {
    const wrong = `${key.slice(0, at)}${key[at] === "a" ? "b" : "a"}${key.slice(at + 1)}`;
    assert.equal(keys.verify(wrong), "unknown", `character ${at}`);
  }
  for (const wrong of ["", "nek_", `${key}=`, ` ${key}`, key.slice(0, -1), key.toUpperCase()]) {
    assert.equal(keys.verify(wrong), "unknown");
  }
  assert.ok(isWellFormedKey(key));
  assert.ok(!isWellFormedKey(`${key.slice(0, 20)}${other.slice(20)}`), "the checksum covers the id");
  assert.ok(!isWellFormedKey(`${key.slice(0, -1)}${key.endsWith("A") ? "Q" : "A"}`));
});

test("a key that passes its checksum but not its hash is unknown", async () => {
  const { keys, store } = open();
  const { key, info } = await keys.create({ name: "ci", role: "writer" });
  // Another key's record under this id: its checksum is right and its hash is not.
  const { info: other } = await keys.create({ name: "other", role: "admin" });
  const record = store.get(Buffer.from(`key/${other.id}`))!;
  await store.commit([{ kind: "put", key: Buffer.from(`key/${info.id}`), value: record }]);
  assert.equal(keys.verify(key), "unknown");
});

test("a key ends at its expiry", async () => {
  const { keys, clock } = open();
  const { key } = await keys.create({ name: "ci", role: "reader", lifetimeMs: 90 * dayMs });
  clock.advance(90 * dayMs - 1);
  assert.equal(typeof keys.verify(key), "object");
  clock.advance(1);
  assert.equal(keys.verify(key), "expired");
  assert.equal(keys.list()[0]?.status, "expired");
});

test("a revoked key is refused and its name is free again", async () => {
  const { keys, clock } = open();
  const { key } = await keys.create({ name: "ci", role: "reader" });
  clock.advance(1);
  await assert.rejects(keys.create({ name: "ci", role: "admin" }), failsWith("already_exists"));
  assert.equal((await keys.revoke("ci")).status, "revoked");
  assert.equal(keys.verify(key), "revoked");
  await assert.rejects(keys.revoke("ci"), failsWith("not_found"));
  const { key: second } = await keys.create({ name: "ci", role: "admin" });
  assert.equal(typeof keys.verify(second), "object");
  assert.equal(keys.verify(key), "revoked");
  assert.deepEqual(
    keys.list().map(({ name, status }) => [name, status]),
    [
      ["ci", "revoked"],
      ["ci", "live"],
    ],
  );
});

test("a change made by another holder of the store is seen at the next check", async () => {
  const { keys, store, clock } = open();
  const other = open({ store, clock }).keys;
  const { key } = await other.create({ name: "ci", role: "reader" });
  for (let times = 0; times < 3; times++) assert.equal(typeof keys.verify(key), "object");
  await other.revoke("ci");
  clock.advance(1);
  assert.equal(keys.verify(key), "revoked");
});

test("a key that was verified a moment ago is refused once it is revoked here, or its time is over", async () => {
  const { keys, clock } = open();
  const revoked = await keys.create({ name: "ci", role: "reader" });
  const short = await keys.create({ name: "short", role: "reader", lifetimeMs: 1 });
  for (const { key } of [revoked, short]) {
    for (let times = 0; times < 3; times++) assert.equal(typeof keys.verify(key), "object");
  }
  await keys.revoke("ci");
  assert.equal(keys.verify(revoked.key), "revoked");
  assert.equal(typeof keys.verify(short.key), "object");
  clock.advance(1);
  assert.equal(keys.verify(short.key), "expired");
});

test("of two keys made at once under one name at most one lives", async () => {
  const { keys, store, clock } = open();
  const other = open({ store, clock }).keys;
  const made = await Promise.allSettled([
    keys.create({ name: "ci", role: "reader" }),
    other.create({ name: "ci", role: "reader" }),
  ]);
  const shown = made.filter((each) => each.status === "fulfilled");
  const live = keys.list().filter((key) => key.status === "live");
  assert.ok(shown.length <= 1);
  assert.equal(live.length, shown.length);
});

test("last use is remembered in memory", async () => {
  const { keys, clock } = open();
  const { key } = await keys.create({ name: "ci", role: "reader" });
  assert.equal(keys.list()[0]?.lastUsedMs, undefined);
  clock.advance(5_000);
  keys.verify(key);
  assert.equal(keys.list()[0]?.lastUsedMs, clock.nowMs());
});

test("ended keys leave the list in time", async () => {
  const { keys, clock } = open();
  await keys.create({ name: "old", role: "reader" });
  await keys.revoke("old");
  clock.advance(keyLimits.endedKeyKeptMs + 1);
  await keys.create({ name: "new", role: "reader" });
  assert.deepEqual(
    keys.list().map((key) => key.name),
    ["new"],
  );
});

test("bad arguments name their field", async () => {
  const { keys } = open();
  const cases = [
    [{ name: "", role: "reader" as Role }, "name"],
    [{ name: "a b", role: "reader" as Role }, "name"],
    [{ name: "a", role: "owner" as Role }, "role"],
    [{ name: "a", role: "reader" as Role, namespaces: ["../x"] }, "namespace"],
    [{ name: "a", role: "reader" as Role, namespaces: [] }, "namespaces"],
    [{ name: "a", role: "reader" as Role, lifetimeMs: 0 }, "expires"],
    [{ name: "a", role: "reader" as Role, lifetimeMs: Number.NaN }, "expires"],
    [{ name: "a", role: "reader" as Role, lifetimeMs: 1e15 }, "expires"],
  ] as const;
  for (const [command, field] of cases) {
    await assert.rejects(keys.create(command), failsWith("invalid_argument", new RegExp(`^${field}: `)));
  }
  assert.deepEqual(keys.list(), []);
});

test("a damaged record admits nobody", async () => {
  const { keys, store } = open();
  const { key, info } = await keys.create({ name: "ci", role: "reader" });
  const place = Buffer.from(`key/${info.id}`);
  const good = Buffer.from(store.get(place)!).toString();
  for (const bad of ["", "null", "{}", good.replace("reader", "root"), good.replace(/"hash":"...../, '"hash":"')]) {
    await store.commit([{ kind: "put", key: place, value: Buffer.from(bad) }]);
    assert.throws(() => keys.verify(key), failsWith("internal"), bad);
  }
});

test("keys of the settings work beside the stored ones", async () => {
  const { keys } = open({ fixed: "first:admin:s3cret:with:colons, second:reader:another\n" });
  assert.deepEqual(keys.verify("s3cret:with:colons"), {
    id: "apikey:first",
    kind: "service_account",
    displayName: "first",
    role: "admin",
    method: "apikey",
  });
  assert.equal((keys.verify("another") as { role: Role }).role, "reader");
  assert.equal(keys.verify("s3cret"), "unknown");
  assert.deepEqual(keys.list(), []);
  await assert.rejects(keys.create({ name: "first", role: "reader" }), failsWith("already_exists"));
  await assert.rejects(keys.revoke("first"), failsWith("failed_precondition", /SERVICE_API_KEYS/));
});

test("errors in SERVICE_API_KEYS name the entry and never a part of it", () => {
  const secret = "Zq7hunter2Zq7";
  const cases = [
    secret,
    `ci:${secret}`,
    `ci:${secret}:admin`,
    `ci:owner:${secret}`,
    `${secret}!:admin:x`,
    "ci:admin:",
    `ci:admin:${secret} ${secret}`,
    `ci:admin:${secret}é`,
    `ci:admin:${secret.repeat(60)}`,
    `ci:admin:${secret},ci:admin:x`,
    `a:admin:${secret},b:reader:${secret}`,
  ];
  for (const text of cases) {
    assert.throws(
      () => parseFixedKeys("SERVICE_API_KEYS", text),
      (error) => {
        assert.ok(error instanceof EngineError);
        assert.match(error.message, /^SERVICE_API_KEYS\[[01]\]: /);
        assert.ok(!JSON.stringify([error.message, error.details, error.metadata, error.stack]).includes("hunter2"));
        return true;
      },
      text,
    );
  }
});
