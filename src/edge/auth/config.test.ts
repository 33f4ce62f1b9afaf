import assert from "node:assert/strict";
import test from "node:test";
import { EngineError } from "../../engine/errors.ts";
import { checkAuthConfig, parseAuthConfig, type Settings } from "./config.ts";

const oidc = {
  SERVICE_AUTH_MODE: "oidc",
  SERVICE_OIDC_ISSUER: "https://id.example/realm",
  SERVICE_OIDC_AUDIENCE: "native-engine",
} as const;

test("nothing set is off", () => {
  assert.deepEqual(parseAuthConfig({}), { modes: ["off"], fixedKeys: [], oidc: undefined, mesh: undefined });
  assert.deepEqual(parseAuthConfig({ SERVICE_AUTH_MODE: " " }).modes, ["off"]);
});

test("a full set of settings", () => {
  const config = parseAuthConfig({
    ...oidc,
    SERVICE_AUTH_MODE: "apikey, oidc,mesh,oidc",
    SERVICE_API_KEYS: "ci:reader:abc",
    SERVICE_OIDC_ALLOWED_EMAILS: "Ada@Example.com",
    SERVICE_OIDC_ALLOWED_DOMAINS: "@Example.com,example.org",
    SERVICE_OIDC_ALLOWED_GROUPS: "Ops",
    SERVICE_OIDC_ROLE_CLAIM: "role",
    SERVICE_OIDC_DEFAULT_ROLE: "none",
    SERVICE_OIDC_CLIENT_ID: "console",
    SERVICE_MESH_ALLOWED_USERS: "Ada@Example.com,tag:ci",
  });
  assert.deepEqual(config.modes, ["apikey", "oidc", "mesh"]);
  assert.deepEqual(
    config.fixedKeys.map(({ name, role }) => [name, role]),
    [["ci", "reader"]],
  );
  assert.deepEqual(config.oidc, {
    issuer: "https://id.example/realm",
    audiences: ["native-engine"],
    allowedEmails: ["ada@example.com"],
    allowedDomains: ["example.com", "example.org"],
    allowedGroups: ["Ops"],
    groupsClaim: "groups",
    roleClaim: "role",
    defaultRole: "none",
    clientId: "console",
  });
  assert.deepEqual(config.mesh, {
    socketPath: "/var/run/tailscale/tailscaled.sock",
    allowedUsers: ["ada@example.com", "tag:ci"],
    defaultRole: "writer",
  });
});

const refused: readonly (readonly [Settings, string])[] = [
  [{ SERVICE_AUTH_MODE: "on" }, "SERVICE_AUTH_MODE"],
  [{ SERVICE_AUTH_MODE: "apikey," }, "SERVICE_AUTH_MODE"],
  [{ SERVICE_AUTH_MODE: "off,apikey" }, "SERVICE_AUTH_MODE"],
  [{ SERVICE_API_KEYS: "ci" }, "SERVICE_API_KEYS[0]"],
  [{ ...oidc, SERVICE_OIDC_ISSUER: undefined }, "SERVICE_OIDC_ISSUER"],
  [{ ...oidc, SERVICE_OIDC_ISSUER: "id.example" }, "SERVICE_OIDC_ISSUER"],
  [{ ...oidc, SERVICE_OIDC_ISSUER: "http://id.example" }, "SERVICE_OIDC_ISSUER"],
  [{ ...oidc, SERVICE_OIDC_ISSUER: "https://id.example?x=1" }, "SERVICE_OIDC_ISSUER"],
  [{ ...oidc, SERVICE_OIDC_ISSUER: "https://user:pass@id.example" }, "SERVICE_OIDC_ISSUER"],
  [{ ...oidc, SERVICE_OIDC_AUDIENCE: "" }, "SERVICE_OIDC_AUDIENCE"],
  [{ ...oidc, SERVICE_OIDC_ALLOWED_EMAILS: "," }, "SERVICE_OIDC_ALLOWED_EMAILS"],
  [{ ...oidc, SERVICE_OIDC_DEFAULT_ROLE: "owner" }, "SERVICE_OIDC_DEFAULT_ROLE"],
  [{ SERVICE_AUTH_MODE: "mesh", SERVICE_MESH_DEFAULT_ROLE: "none" }, "SERVICE_MESH_DEFAULT_ROLE"],
];

for (const [settings, field] of refused) {
  test(`${JSON.stringify(settings)} is refused`, () => {
    assert.throws(
      () => parseAuthConfig(settings),
      (error) => error instanceof EngineError && error.details["field"] === field,
    );
  });
}

for (const issuer of ["http://127.0.0.1:9000", "http://localhost/realm", "http://[::1]:9000/"]) {
  test(`the http issuer ${issuer} is allowed`, () => {
    assert.equal(parseAuthConfig({ ...oidc, SERVICE_OIDC_ISSUER: issuer }).oidc?.issuer, issuer);
  });
}

test("off is refused on any address that others can reach", () => {
  const config = parseAuthConfig({});
  assert.deepEqual(checkAuthConfig(config, ["127.0.0.1", "localhost", "::1", "[::1]"]), []);
  for (const host of ["0.0.0.0", "::", "192.168.1.5", "db.example", ""]) {
    assert.throws(() => checkAuthConfig(config, ["127.0.0.1", host]), /SERVICE_AUTH_MODE: .*loopback/);
    assert.doesNotThrow(() => checkAuthConfig(parseAuthConfig({ SERVICE_AUTH_MODE: "apikey" }), [host]));
  }
});

test("what is risky or has no effect is said, without the key", () => {
  const warnings = (settings: Settings) => checkAuthConfig(parseAuthConfig(settings), ["0.0.0.0"]).join("\n");
  assert.equal(warnings({ SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `ci:reader:${"k".repeat(24)}` }), "");
  const weak = warnings({ SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: "ci:reader:hunter2" });
  assert.match(weak, /the key ci is short/);
  assert.ok(!weak.includes("hunter2"));
  assert.match(warnings({ ...oidc, SERVICE_API_KEYS: `ci:reader:${"k".repeat(24)}` }), /no effect/);
  assert.match(warnings(oidc), /no allowlist/);
  assert.equal(warnings({ ...oidc, SERVICE_OIDC_ALLOWED_GROUPS: "ops" }), "");
  assert.match(warnings({ SERVICE_AUTH_MODE: "mesh" }), /SERVICE_MESH_ALLOWED_USERS/);
});
