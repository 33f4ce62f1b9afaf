import assert from "node:assert/strict";
import test from "node:test";
import { IdentityProvider } from "../../../test/support/identity-provider.ts";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { ApiKeys } from "../../engine/auth/keys.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError, type Reason } from "../../engine/errors.ts";
import { StoreError } from "../../port/store.ts";
import { createAuthenticator } from "./authenticator.ts";
import { parseAuthConfig, type Settings } from "./config.ts";
import { throttleLimits } from "./throttle.ts";

function setup(settings: Settings, { clock = new SimulatedClock(Date.now()), store = new MemoryStore() } = {}) {
  const config = parseAuthConfig(settings);
  const keys = new ApiKeys({ store, clock, random: new NodeRandom(), fixed: config.fixedKeys });
  const authenticator = createAuthenticator(config, { keys, clock });
  const present = (authorization?: string, remoteAddress = "192.0.2.1") =>
    authenticator.authenticate({ authorization, remoteAddress, remotePort: 4000 });
  return { clock, keys, authenticator, present };
}

async function refused(answer: Principal | Promise<Principal>, reason: Reason): Promise<EngineError> {
  assert.ok(answer instanceof Promise, "a refusal is a rejected promise");
  const error = await answer.then(
    () => assert.fail("was admitted"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof EngineError, String(error));
  assert.equal(error.reason, reason, error.message);
  return error;
}

test("off: every caller of this machine is dev-loopback", async () => {
  const { present } = setup({});
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
    assert.deepEqual(present(undefined, address), {
      id: "dev-loopback",
      kind: "service_account",
      displayName: "dev-loopback",
      role: "admin",
      method: "off",
    });
  }
  await refused(present(undefined, "192.0.2.1"), "permission_denied");
});

test("apikey: a key is checked without waiting", async () => {
  const { keys, present } = setup({ SERVICE_AUTH_MODE: "apikey" });
  const { key } = await keys.create({ name: "ci", role: "reader" });
  for (const header of [`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key} `]) {
    const principal = present(header);
    assert.ok(!(principal instanceof Promise));
    assert.equal(principal.id, "apikey:ci");
  }
});

test("apikey: anything else is unauthenticated, and is not repeated", async () => {
  const { keys, clock, present } = setup({
    SERVICE_AUTH_MODE: "apikey",
    SERVICE_API_KEYS: "first:admin:Zq7hunter2Zq7",
  });
  const { key } = await keys.create({ name: "ci", role: "reader", lifetimeMs: 1_000 });
  clock.advance(1_000);
  const headers = [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    `Basic ${Buffer.from("x:Zq7hunter2Zq7").toString("base64")}`,
    "Zq7hunter2Zq7",
    "BearerZq7hunter2Zq7",
    "Bearer Zq7hunter2Zq8",
    "Bearer Zq7hunter2Zq7,",
    `Bearer ${"Zq7hunter2Zq7".repeat(5_000)}`,
    `Bearer ${key}`,
    `Bearer ${key.slice(0, -1)}`,
    "Bearer a.b.c",
  ];
  for (const header of headers) {
    const error = await refused(present(header), "unauthenticated");
    const told = JSON.stringify([error.message, error.details, error.metadata, error.stack, String(error.cause)]);
    assert.ok(!told.includes("hunter2") && !told.includes(key.slice(21, 40)), header);
  }
  assert.equal((await present("Bearer Zq7hunter2Zq7")).id, "apikey:first");
});

test("apikey: a holder of an ended key learns why", async () => {
  const { keys, clock, present } = setup({ SERVICE_AUTH_MODE: "apikey" });
  const { key: short } = await keys.create({ name: "short", role: "reader", lifetimeMs: 1_000 });
  const { key: ended } = await keys.create({ name: "ended", role: "reader" });
  await keys.revoke("ended");
  clock.advance(1_000);
  assert.match((await refused(present(`Bearer ${short}`), "unauthenticated")).message, /expired/);
  assert.match((await refused(present(`Bearer ${ended}`), "unauthenticated")).message, /revoked/);
});

test("a store that can't be read refuses everyone as unavailable", async () => {
  class LostStore extends MemoryStore {
    override get(): never {
      throw new StoreError("failed", "input/output error");
    }
  }
  const { keys, present } = setup({ SERVICE_AUTH_MODE: "apikey" }, { store: new LostStore() });
  const { key } = await keys.create({ name: "ci", role: "admin" });
  await refused(present(`Bearer ${key}`), "unavailable");
});

test("apikey,oidc: each credential goes where it fits", async () => {
  const clock = new SimulatedClock(Date.now());
  await using provider = await IdentityProvider.start(clock);
  const settings = {
    SERVICE_AUTH_MODE: "apikey, oidc",
    SERVICE_API_KEYS: "dotted:reader:a.b.c",
    SERVICE_OIDC_ISSUER: provider.issuer,
    SERVICE_OIDC_AUDIENCE: "other, native-engine",
  };
  const { keys, present } = setup(settings, { clock });
  const { key } = await keys.create({ name: "ci", role: "reader" });
  const token = await provider.token();
  assert.equal((await present(`Bearer ${key}`)).method, "apikey");
  assert.equal((await present(`Bearer ${token}`)).method, "oidc");
  assert.equal((await present("Bearer a.b.c")).id, "apikey:dotted");
  await present(`Bearer ${token}`);
  const again = present(`Bearer ${token}`);
  assert.ok(!(again instanceof Promise), "a token verified a moment ago is not verified again");
  clock.advance(3_600_000);
  await refused(present(`Bearer ${token}`), "token_expired");
  await refused(present(`Bearer ${key.slice(1)}`), "unauthenticated");
  provider.state = "down";
  assert.equal((await present(`Bearer ${key}`)).method, "apikey", "keys do not need the provider");
});

test("a valid credential is never slowed down, whatever came from its address", async () => {
  const { keys, clock, authenticator, present } = setup({ SERVICE_AUTH_MODE: "apikey" });
  const { key } = await keys.create({ name: "ci", role: "reader" });
  for (let n = 0; n < throttleLimits.freeFailures; n++) await refused(present("Bearer wrong"), "unauthenticated");
  const slowed = present("Bearer wrong");
  assert.ok(slowed instanceof Promise);
  assert.equal(clock.sleeping, 1);
  assert.ok(!(present(`Bearer ${key}`) instanceof Promise));
  clock.advance(throttleLimits.delayMsMin);
  await refused(slowed, "unauthenticated");
  const held = refused(present("Bearer wrong"), "unauthenticated");
  assert.equal(clock.sleeping, 1);
  authenticator.close();
  await held;
});

test("a request without a credential is no failed attempt", async () => {
  const { clock, present } = setup({ SERVICE_AUTH_MODE: "apikey" });
  for (let n = 0; n < throttleLimits.freeFailures + 5; n++) await refused(present(), "unauthenticated");
  assert.equal(clock.sleeping, 0);
});
