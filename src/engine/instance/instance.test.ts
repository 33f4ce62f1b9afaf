import assert from "node:assert/strict";
import { test } from "node:test";
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from "jose";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeClock } from "../../adapter/node/clock.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import type { Store } from "../../port/store.ts";
import { EngineError } from "../errors.ts";
import { Instance, type InstanceDeps, spkiHash, type TlsCertificates } from "./instance.ts";
import { defaultInstanceSettings, parseInstanceName, parseMinAppVersions, parsePush } from "./settings.ts";
import { setUp } from "./setup.ts";
import { SigningKeys } from "./signing-keys.ts";

function deps(store: Store, more: Partial<InstanceDeps> = {}): InstanceDeps {
  return {
    store,
    clock: new NodeClock(),
    random: new NodeRandom(),
    settings: defaultInstanceSettings,
    version: "1.2.3",
    authModes: ["off"],
    features: { streams: true },
    house: false,
    ...more,
  };
}

async function verified(instance: Instance, jws: string): Promise<Record<string, unknown>> {
  const keys = createLocalJWKSet({ keys: [...instance.keySet.keys] });
  const { payload } = await compactVerify(jws, keys);
  return JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>;
}

test("identity and keys last as long as the store", async () => {
  const store = new MemoryStore();
  const first = await Instance.open(deps(store));
  const second = await Instance.open(deps(store));
  assert.match(first.id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  assert.equal(second.id, first.id);
  assert.deepEqual(second.keySet, first.keySet);
  assert.notEqual((await Instance.open(deps(new MemoryStore()))).id, first.id);
});

test("the key set holds no private key", async () => {
  const store = new MemoryStore();
  const instance = await Instance.open(deps(store));
  const keys = await SigningKeys.open(store, new NodeClock());
  await keys.startRotation(instance.id);
  await keys.finishRotation();
  assert.equal(instance.keySet.keys.length, 2);
  for (const key of instance.keySet.keys) assert.equal(key.d, undefined);
});

test("a key rotation by another process is announced by the old key and survives a restart", async () => {
  const store = new MemoryStore();
  const instance = await Instance.open(deps(store));
  const old = instance.keySet.keys[0]?.kid;
  assert.equal((await instance.describe()).keyRotation, "");
  const keys = await SigningKeys.open(store, new NodeClock());
  await keys.startRotation(instance.id);
  await assert.rejects(keys.startRotation(instance.id), { reason: "failed_precondition" });

  const { keyRotation } = await instance.describe();
  assert.equal((await (await Instance.open(deps(store))).describe()).keyRotation, keyRotation);
  assert.equal(decodeProtectedHeader(keyRotation).kid, old);
  const proof = await verified(instance, keyRotation);
  assert.equal(proof["thumbprint"], instance.keySet.keys[1]?.kid);
  assert.equal(proof["iss"], instance.id);

  await keys.finishRotation();
  assert.equal((await instance.describe()).keyRotation, "");
  assert.deepEqual(
    instance.keySet.keys.map((key) => key.kid),
    [proof["thumbprint"], old],
  );
  await assert.rejects(keys.finishRotation(), { reason: "failed_precondition" });
});

test("setup runs once", async () => {
  const store = new MemoryStore();
  const instance = await Instance.open(deps(store));
  const run = (org: string, owner: string) => setUp(store, new NodeClock(), new NodeRandom(), { org, owner });
  assert.equal((await instance.describe()).setupRequired, true);
  const setup = await run(" Acme ", "ada@example.com");
  assert.equal(setup.org.name, "Acme");
  assert.equal((await instance.describe()).setupRequired, false);
  assert.deepEqual(await run("Acme", "ada@example.com"), setup);
  await assert.rejects(run("Other", "ada@example.com"), { reason: "failed_precondition" });
  await assert.rejects(run("", "x"), { metadata: { field: "org" } });
});

test("sign-in methods follow the modes", async () => {
  const table = [
    [["off"], undefined, [{ kind: "none", displayName: "No sign-in" }]],
    [["apikey"], undefined, []],
    [
      ["apikey", "oidc"],
      "https://id.example.com/realm",
      [{ kind: "identity_provider", displayName: "id.example.com" }],
    ],
    [["mesh"], undefined, [{ kind: "none", displayName: "Mesh network identity" }]],
  ] as const;
  for (const [authModes, issuer, want] of table) {
    const more = issuer === undefined ? { authModes } : { authModes, issuer };
    const described = await (await Instance.open(deps(new MemoryStore(), more))).describe();
    assert.deepEqual(described.signInMethods, want);
    assert.equal(described.issuer, issuer ?? "");
  }
});

test("the catalogue tells what is served", async () => {
  for (const house of [false, true]) {
    const described = await (await Instance.open(deps(new MemoryStore(), { house }))).describe();
    const available = described.services.filter((status) => status.available).map((status) => status.package);
    assert.deepEqual(available, [
      "service.instance.v1",
      "service.collection.v1",
      ...(house ? ["service.house.v1"] : []),
    ]);
    assert.deepEqual(described.apiVersions, available);
    assert.deepEqual(
      described.services.map((status) => [status.package, status.unstable]),
      [
        ["service.instance.v1", false],
        ["service.collection.v1", false],
        ["service.live.v1", true],
        ["service.graph.v1", false],
        ["service.house.v1", false],
      ],
    );
  }
});

/** Self-signed; their keys are gone. */
const certificateA = `-----BEGIN CERTIFICATE-----
MIIBfDCCASOgAwIBAgIUd0HRz+SHklDpXnOQIjmHq7Id47AwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2MTExNTA0MDUzNVoXDTM2MTExMjA0
MDUzNVowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEC4i8RwGu1UJY3WKfrEG12oKCJuW86BK0pxtmPvRc1zFt94sz/4YB4VzU
JGDZy7d6cmGcD5QIBvbw52+bvRvr7KNTMFEwHQYDVR0OBBYEFAzGpB7ggL9wZRqB
EXxdLDbFrBvOMB8GA1UdIwQYMBaAFAzGpB7ggL9wZRqBEXxdLDbFrBvOMA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgISIssyFeb8pwkhDSBlmRneZP
Onr5Akfwr2e0KjdcdoQCIBKwJ7N76uZmmqYWr2GqCOXmcCg5Y1NhWeFbsKszDlPJ
-----END CERTIFICATE-----
`;
const certificateB = `-----BEGIN CERTIFICATE-----
MIIBfjCCASOgAwIBAgIUfLdN05ClQjMm29qxZgj+tGSHzXswCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2MTExNTA0MDUzNVoXDTM2MTExMjA0
MDUzNVowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEaobyJZh1z+rPEohnWDV0p5dezYcK/L0LQ30V8hPl7zKtOq56aphIZSQU
vasV0dUV7MG4SKs3qv++wjKuRS2c86NTMFEwHQYDVR0OBBYEFCp1m5Fyu+hvFsD2
pVrcyNxaDqu4MB8GA1UdIwQYMBaAFCp1m5Fyu+hvFsD2pVrcyNxaDqu4MA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAJ+AgpqJEMmJkx9CsRs4pDPo
POI0t983ZxhDhdd4B/KnAiEAlWhRPi0zYnvXiUmqfw1CDBgTGX6Qao1naSBIcPt7
Ur8=
-----END CERTIFICATE-----
`;

test("TLS pins are signed and follow the certificate", async () => {
  let certificates: TlsCertificates = { current: certificateA };
  const instance = await Instance.open(deps(new MemoryStore(), { privateTls: () => certificates }));
  const first = (await instance.describe()).tlsPins;
  assert.equal((await instance.describe()).tlsPins, first);
  assert.deepEqual((await verified(instance, first))["next"], []);
  certificates = { current: certificateA, next: certificateB };
  const pins = await verified(instance, (await instance.describe()).tlsPins);
  assert.deepEqual(pins["current"], [spkiHash(certificateA)]);
  assert.deepEqual(pins["next"], [spkiHash(certificateB)]);
  assert.equal(Buffer.from(spkiHash(certificateA), "base64").byteLength, 32);
  assert.notEqual(spkiHash(certificateA), spkiHash(certificateB));
});

test("settings name the field at fault", () => {
  const push = { gatewayUrl: "https://push.example.com", appIds: { ios: "com.example" }, unifiedpush: true };
  assert.deepEqual(parsePush("push", push), push);
  assert.deepEqual(parsePush("push", { gatewayUrl: push.gatewayUrl }), {
    gatewayUrl: push.gatewayUrl,
    appIds: {},
    unifiedpush: false,
  });
  assert.deepEqual(parseMinAppVersions("v", { desktop: "2.0.0" }), { desktop: "2.0.0" });
  assert.equal(parseInstanceName("name", " Lab "), "Lab");
  const table: [() => unknown, string][] = [
    [() => parseInstanceName("name", " "), "name"],
    [() => parseInstanceName("name", "x".repeat(201)), "name"],
    [() => parsePush("push", {}), "push.gatewayUrl"],
    [() => parsePush("push", []), "push"],
    [() => parsePush("push", { ...push, gateway: "x" }), "push.gateway"],
    [() => parsePush("push", { ...push, appIds: { windows: "x" } }), "push.appIds.windows"],
    [() => parsePush("push", { ...push, unifiedpush: "yes" }), "push.unifiedpush"],
    [() => parseMinAppVersions("v", { ios: 3 }), "v.ios"],
    [() => parseMinAppVersions("v", null), "v"],
  ];
  for (const [parse, field] of table) {
    assert.throws(parse, (error: unknown) => error instanceof EngineError && error.metadata["field"] === field);
  }
});
