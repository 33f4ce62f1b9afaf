import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from "jose";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeClock } from "../../adapter/node/clock.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import type { Store } from "../../port/store.ts";
import { EngineError } from "../errors.ts";
import { Instance, type InstanceDeps } from "./instance.ts";
import { defaultInstanceSettings, parseInstanceSettings } from "./settings.ts";
import { spkiHash } from "./tls-pins.ts";

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
  const instance = await Instance.open(deps(new MemoryStore()));
  await instance.startKeyRotation();
  await instance.finishKeyRotation();
  assert.equal(instance.keySet.keys.length, 2);
  for (const key of instance.keySet.keys) assert.equal(key.d, undefined);
});

test("a key rotation is announced by the old key and survives a restart", async () => {
  const store = new MemoryStore();
  const before = await Instance.open(deps(store));
  const old = before.keySet.keys[0]?.kid;
  assert.equal((await before.describe()).keyRotation, "");
  await before.startKeyRotation();
  await assert.rejects(before.startKeyRotation(), { reason: "failed_precondition" });

  const during = await Instance.open(deps(store));
  const { keyRotation } = await during.describe();
  assert.equal(decodeProtectedHeader(keyRotation).kid, old);
  const proof = await verified(during, keyRotation);
  assert.equal(proof["thumbprint"], during.keySet.keys[1]?.kid);
  assert.equal(proof["iss"], during.id);

  await during.finishKeyRotation();
  assert.equal((await during.describe()).keyRotation, "");
  assert.deepEqual(
    during.keySet.keys.map((key) => key.kid),
    [proof["thumbprint"], old],
  );
  await assert.rejects(during.finishKeyRotation(), { reason: "failed_precondition" });
});

test("setup runs once", async () => {
  const instance = await Instance.open(deps(new MemoryStore()));
  assert.equal((await instance.describe()).setupRequired, true);
  const setup = await instance.setUp({ org: " Acme ", owner: "ada@example.com" });
  assert.equal(setup.org.name, "Acme");
  assert.equal((await instance.describe()).setupRequired, false);
  assert.deepEqual(await instance.setUp({ org: "Acme", owner: "ada@example.com" }), setup);
  await assert.rejects(instance.setUp({ org: "Other", owner: "ada@example.com" }), { reason: "failed_precondition" });
  await assert.rejects(instance.setUp({ org: "", owner: "x" }), { metadata: { field: "org" } });
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

test("TLS pins are signed and follow the certificate", async () => {
  const folder = mkdtempSync(join(tmpdir(), "native-engine-pins-"));
  try {
    const pems = ["a", "b"].map((name) => {
      const path = join(folder, name);
      execFileSync(
        "openssl",
        [
          "req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:P-256",
          "-nodes",
          "-subj",
          "/CN=localhost",
        ].concat(["-days", "2", "-keyout", `${path}.key`, "-out", `${path}.crt`]),
        { stdio: "ignore" },
      );
      return readFileSync(`${path}.crt`, "utf8");
    });
    const [a, b] = [pems[0]!, pems[1]!];
    let certificates = { current: a } as { current: string; next?: string };
    const instance = await Instance.open(deps(new MemoryStore(), { privateTls: () => certificates }));
    const first = (await instance.describe()).tlsPins;
    assert.equal((await instance.describe()).tlsPins, first);
    certificates = { current: a, next: b };
    const pins = await verified(instance, (await instance.describe()).tlsPins);
    assert.deepEqual(pins["current"], [spkiHash(a)]);
    assert.deepEqual(pins["next"], [spkiHash(b)]);
    assert.notEqual(spkiHash(a), spkiHash(b));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("settings name the field at fault", () => {
  const push = { gatewayUrl: "https://push.example.com", appIds: { ios: "com.example" }, unifiedpush: true };
  assert.deepEqual(parseInstanceSettings({ name: "Lab", push, minAppVersions: { desktop: "2.0.0" } }), {
    name: "Lab",
    push,
    minAppVersions: { desktop: "2.0.0" },
  });
  assert.deepEqual(parseInstanceSettings(undefined), defaultInstanceSettings);
  const table: [unknown, string][] = [
    [{ name: "" }, "instance.name"],
    [{ nmae: "x" }, "instance.nmae"],
    [{ push: {} }, "instance.push.gatewayUrl"],
    [{ push: { ...push, appIds: { windows: "x" } } }, "instance.push.appIds.windows"],
    [{ minAppVersions: { ios: 3 } }, "instance.minAppVersions.ios"],
    [[], "instance"],
  ];
  for (const [value, field] of table) {
    assert.throws(
      () => parseInstanceSettings(value),
      (error: unknown) => error instanceof EngineError && error.metadata["field"] === field,
    );
  }
});
