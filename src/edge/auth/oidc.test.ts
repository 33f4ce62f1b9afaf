import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import test from "node:test";
import { type CryptoKey, exportSPKI, importJWK } from "jose";
import { IdentityProvider, newSigningKey, type TokenOptions } from "../../../test/support/identity-provider.ts";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { ApiKeys } from "../../engine/auth/keys.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError, type Reason } from "../../engine/errors.ts";
import { createAuthenticator } from "./authenticator.ts";
import { parseAuthConfig, type Settings } from "./config.ts";
import { oidcLimits } from "./oidc.ts";
import { providerLimits } from "./provider-keys.ts";

interface Setup extends AsyncDisposable {
  readonly provider: IdentityProvider;
  readonly clock: SimulatedClock;
  readonly reports: string[];
  present(token: string): Promise<Principal>;
}

async function setup(settings: Settings = {}, prepare = (_: IdentityProvider) => {}): Promise<Setup> {
  const clock = new SimulatedClock(Date.now());
  const provider = await IdentityProvider.start(clock);
  prepare(provider);
  const reports: string[] = [];
  const config = parseAuthConfig({
    SERVICE_AUTH_MODE: "oidc",
    SERVICE_OIDC_ISSUER: provider.issuer,
    SERVICE_OIDC_AUDIENCE: "native-engine",
    ...settings,
  });
  const keys = new ApiKeys({ store: new MemoryStore(), clock, random: new NodeRandom() });
  const authenticator = createAuthenticator(config, { keys, clock, report: (message) => reports.push(message) });
  return {
    provider,
    clock,
    reports,
    present: async (token) =>
      authenticator.authenticate({ authorization: `Bearer ${token}`, remoteAddress: "127.0.0.1", remotePort: 1 }),
    async [Symbol.asyncDispose]() {
      authenticator.close();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** Checks the reason, and that no part of the token is told to anyone. */
async function refused(answer: Promise<Principal>, reason: Reason, token: string, pattern = /./): Promise<EngineError> {
  const error = await answer.then(
    () => assert.fail("was admitted"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof EngineError, String(error));
  assert.equal(error.reason, reason, error.message);
  assert.match(error.message, pattern);
  const told = JSON.stringify([error.message, error.details, error.metadata, error.stack, String(error.cause)]);
  for (const part of token.split(".")) if (part.length > 8) assert.ok(!told.includes(part));
  assert.ok(!told.includes("ada@example.com"));
  return error;
}

test("a valid token stands for its user", async () => {
  await using it = await setup();
  assert.deepEqual(await it.present(await it.provider.token()), {
    id: "user-1",
    kind: "user",
    displayName: "Ada Example",
    email: "ada@example.com",
    role: "writer",
    method: "oidc",
  });
});

test("every allowed algorithm verifies", async () => {
  await using it = await setup();
  for (const alg of ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]) {
    it.provider.keys.push(await newSigningKey(alg, alg));
  }
  for (const key of it.provider.keys) {
    assert.equal((await it.present(await it.provider.token({ key }))).id, "user-1", key.alg);
  }
});

const badClaims: readonly (readonly [string, TokenOptions, RegExp])[] = [
  ["not yet valid", { claims: { nbf: Math.floor(Date.now() / 1000) + 3600 } }, /not valid yet/],
  ["for another audience", { claims: { aud: "someone-else" } }, /audience/],
  ["without an audience", { without: ["aud"] }, /audience/],
  ["of another issuer", { claims: { iss: "https://issuer.example" } }, /issuer/],
  ["without an issuer", { without: ["iss"] }, /issuer/],
  ["without an expiry", { without: ["exp"] }, /claim/],
  ["without a subject", { without: ["sub"] }, /claim/],
  ["with an empty subject", { claims: { sub: "" } }, /subject/],
  ["with an endless subject", { claims: { sub: "x".repeat(oidcLimits.subjectCharactersMax + 1) } }, /subject/],
  ["with an expiry that is no number", { claims: { exp: "never" as unknown as number } }, /claim/],
];

for (const [name, options, pattern] of badClaims) {
  test(`a token ${name} is refused`, async () => {
    await using it = await setup();
    const token = await it.provider.token(options);
    await refused(it.present(token), "unauthenticated", token, pattern);
  });
}

test("an expired token says so, with a hint", async () => {
  await using it = await setup();
  const token = await it.provider.token({ lifetimeSeconds: 60 });
  await it.present(token);
  it.clock.advance(60_000 + oidcLimits.clockSkewMs - 2_000);
  assert.equal((await it.present(token)).id, "user-1", "clocks may be a little apart");
  it.clock.advance(3_000);
  const error = await refused(it.present(token), "token_expired", token);
  assert.ok(error.metadata["hint"]);
  assert.deepEqual(error.details, { reason: "token_expired", hint: error.metadata["hint"] });
});

test("an expired token of someone else's is not called expired", async () => {
  await using it = await setup();
  const key = await newSigningKey("RS256", "first");
  const token = await it.provider.token({ key, lifetimeSeconds: -3600 });
  await refused(it.present(token), "unauthenticated", token);
});

test("a token without a signature is refused", async () => {
  await using it = await setup();
  const [, payload] = (await it.provider.token()).split(".");
  for (const alg of ["none", "None", ""]) {
    const header = Buffer.from(JSON.stringify({ alg, kid: "first" })).toString("base64url");
    const token = `${header}.${payload}.`;
    await refused(it.present(token), "unauthenticated", token);
  }
  assert.equal(it.provider.requests, 0, "the provider is not asked about such a token");
});

test("a token signed with the public key as a shared secret is refused", async () => {
  await using it = await setup();
  const [, payload] = (await it.provider.token()).split(".");
  const jwk = it.provider.keys[0]!.publicJwk;
  const pem = await exportSPKI((await importJWK(jwk, "RS256")) as CryptoKey);
  for (const secret of [pem, JSON.stringify(jwk), Buffer.from(jwk.n!, "base64url")]) {
    const header = Buffer.from(JSON.stringify({ alg: "HS256", kid: "first" })).toString("base64url");
    const signature = createHmac("sha256", secret).update(`${header}.${payload}`).digest("base64url");
    const token = `${header}.${payload}.${signature}`;
    await refused(it.present(token), "unauthenticated", token, /algorithm/);
  }
});

test("a token that was changed, or signed by another key, is refused", async () => {
  await using it = await setup();
  const [header, , signature] = (await it.provider.token()).split(".");
  const [, admin] = (await it.provider.token({ claims: { role: "admin" } })).split(".");
  await refused(it.present(`${header}.${admin}.${signature}`), "unauthenticated", `${header}.${admin}.${signature}`);
  const token = await it.provider.token({ key: await newSigningKey("RS256", "first") });
  await refused(it.present(token), "unauthenticated", token);
});

test("what is no token at all, or too long, is refused", async () => {
  await using it = await setup();
  const long = `a.${"b".repeat(oidcLimits.tokenCharactersMax)}.c`;
  for (const token of ["x", "a.b.c", "....", `${Buffer.from("{}").toString("base64url")}.e30.e30`, long]) {
    await refused(it.present(token), "unauthenticated", token);
  }
});

test("unknown key ids are refused, and ask the provider only now and then", async () => {
  await using it = await setup();
  await it.present(await it.provider.token());
  const before = it.provider.requests;
  for (let n = 0; n < 5; n++) {
    const token = await it.provider.token({ kid: `unknown-${n}` });
    await refused(it.present(token), "unauthenticated", token, /key is not known/);
  }
  assert.equal(it.provider.requests - before, 2, "one fetch: discovery and key set");
});

test("rotated keys are found at once, and removed ones stop working", async () => {
  await using it = await setup();
  const old = await it.provider.token({ lifetimeSeconds: 36_000 });
  await it.present(old);
  it.provider.keys = [await newSigningKey("ES256", "second")];
  assert.equal((await it.present(await it.provider.token())).id, "user-1");
  await refused(it.present(old), "unauthenticated", old, /key is not known/);
});

test("a token without a key id is verified by whichever key fits", async () => {
  await using it = await setup();
  it.provider.keys.push(await newSigningKey("RS256", "second"), await newSigningKey("RS256", "third"));
  for (const key of it.provider.keys) {
    assert.equal((await it.present(await it.provider.token({ key, kid: undefined }))).id, "user-1");
  }
  const token = await it.provider.token({ key: await newSigningKey("RS256", "other"), kid: undefined });
  await refused(it.present(token), "unauthenticated", token);
});

for (const state of ["down", "failing"] as const) {
  test(`a provider that is ${state} at first makes tokens unavailable until it answers`, async () => {
    await using it = await setup({}, (provider) => {
      provider.state = state;
    });
    const token = await it.provider.token();
    await refused(it.present(token), "unavailable", token);
    const { requests } = it.provider;
    await refused(it.present(token), "unavailable", token);
    assert.equal(it.provider.requests, requests, "it is not asked again for each token");
    assert.equal(it.reports.length, 1);
    it.provider.state = "up";
    it.clock.advance(providerLimits.retryMs);
    assert.equal((await it.present(token)).id, "user-1");
    assert.match(it.reports[1]!, /answers again/);
  });
}

test("a provider that is lost later leaves its keys in use for a while", async () => {
  await using it = await setup();
  await it.present(await it.provider.token());
  it.provider.state = "down";
  it.clock.advance(providerLimits.keysFreshMs + 1);
  assert.equal((await it.present(await it.provider.token())).id, "user-1");
  it.clock.advance(providerLimits.keysUsableMs);
  const token = await it.provider.token();
  await refused(it.present(token), "unavailable", token);
  it.provider.state = "up";
  it.clock.advance(providerLimits.retryMs);
  assert.equal((await it.present(token)).id, "user-1");
});

test("a new key can't be judged while the provider is lost", async () => {
  await using it = await setup();
  await it.present(await it.provider.token());
  it.provider.keys.unshift(await newSigningKey("ES256", "second"));
  it.provider.state = "down";
  const token = await it.provider.token();
  await refused(it.present(token), "unavailable", token);
  await refused(it.present(token), "unavailable", token);
  it.provider.state = "up";
  it.clock.advance(providerLimits.retryMs);
  assert.equal((await it.present(token)).id, "user-1");
});

const badDiscovery = [
  [{ issuer: "https://issuer.example" }, /another issuer/],
  [{ jwks_uri: undefined }, /jwks_uri/],
  [{ jwks_uri: "http://keys.example/keys" }, /https/],
  [{ jwks_uri: "file:///etc/passwd" }, /https/],
] as const;

for (const [discovery, pattern] of badDiscovery) {
  test(`a discovery document with ${JSON.stringify(discovery)} is not used`, async () => {
    await using it = await setup({}, (provider) => {
      provider.discovery = discovery;
    });
    const token = await it.provider.token();
    await refused(it.present(token), "unavailable", token);
    assert.match(it.reports[0]!, pattern);
  });
}

const lists = {
  emails: { SERVICE_OIDC_ALLOWED_EMAILS: "Ada@Example.com, bob@example.org" },
  domains: { SERVICE_OIDC_ALLOWED_DOMAINS: "@example.com" },
  groups: { SERVICE_OIDC_ALLOWED_GROUPS: "ops,dev" },
  nested: { SERVICE_OIDC_ALLOWED_GROUPS: "ops", SERVICE_OIDC_GROUPS_CLAIM: "realm.groups" },
  both: { SERVICE_OIDC_ALLOWED_EMAILS: "bob@example.org", SERVICE_OIDC_ALLOWED_GROUPS: "ops" },
} as const;

const admissions: readonly (readonly [keyof typeof lists, Record<string, unknown>, boolean])[] = [
  ["emails", {}, true],
  ["emails", { email: "ADA@example.COM" }, true],
  ["emails", { email: "eve@example.com" }, false],
  ["emails", { email_verified: true }, true],
  ["emails", { email_verified: false }, false],
  ["emails", { email_verified: "false" }, false],
  ["emails", { email: ["ada@example.com"] }, false],
  ["domains", {}, true],
  ["domains", { email: "eve@sub.example.com" }, false],
  ["domains", { email: "eve@evilexample.com" }, false],
  ["domains", { email: "example.com" }, false],
  ["domains", { email: "eve@example.com@evil.example" }, false],
  ["domains", { email_verified: false }, false],
  ["groups", { groups: ["staff", "dev"] }, true],
  ["groups", { groups: "ops" }, true],
  ["groups", { groups: ["Ops"] }, false],
  ["groups", { groups: [["ops"]] }, false],
  ["groups", {}, false],
  ["nested", { realm: { groups: ["ops"] } }, true],
  ["nested", { groups: ["ops"] }, false],
  ["both", { email: "bob@example.org" }, true],
  ["both", { groups: ["ops"] }, true],
  ["both", {}, false],
];

for (const [list, claims, admitted] of admissions) {
  test(`allowlist ${list}: ${JSON.stringify(claims)} is ${admitted ? "" : "not "}admitted`, async () => {
    await using it = await setup(lists[list]);
    const token = await it.provider.token({ claims });
    if (admitted) assert.equal((await it.present(token)).id, "user-1");
    else await refused(it.present(token), "permission_denied", token);
  });
}

const byClaim = { SERVICE_OIDC_ROLE_CLAIM: "role" };
const roleCases: readonly (readonly [Settings, Record<string, unknown>, string | undefined])[] = [
  [{}, { role: "admin" }, "writer"],
  [{ SERVICE_OIDC_DEFAULT_ROLE: "reader" }, {}, "reader"],
  [byClaim, { role: "admin" }, "admin"],
  [byClaim, { role: "reader" }, "reader"],
  [byClaim, {}, "writer"],
  [byClaim, { role: "owner" }, undefined],
  [byClaim, { role: "" }, undefined],
  [byClaim, { role: 7 }, undefined],
  [byClaim, { role: ["offline", "reader", "writer"] }, "writer"],
  [byClaim, { role: ["offline"] }, undefined],
  [{ ...byClaim, SERVICE_OIDC_DEFAULT_ROLE: "none" }, {}, undefined],
  [{ SERVICE_OIDC_ROLE_CLAIM: "realm_access.roles" }, { realm_access: { roles: ["admin"] } }, "admin"],
  [{ SERVICE_OIDC_ROLE_CLAIM: "https://a.example/role" }, { "https://a.example/role": "reader" }, "reader"],
  [{ SERVICE_OIDC_ROLE_CLAIM: "constructor.name" }, {}, "writer"],
];

for (const [settings, claims, role] of roleCases) {
  test(`role with ${JSON.stringify(settings)} and ${JSON.stringify(claims)}: ${role ?? "not admitted"}`, async () => {
    await using it = await setup(settings);
    const token = await it.provider.token({ claims });
    if (role === undefined) await refused(it.present(token), "permission_denied", token);
    else assert.equal((await it.present(token)).role, role);
  });
}
