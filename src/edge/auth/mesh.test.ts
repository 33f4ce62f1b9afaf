import assert from "node:assert/strict";
import test from "node:test";
import { MeshDaemon, taggedMachine, user, type Whois } from "../../../test/support/mesh-daemon.ts";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { ApiKeys } from "../../engine/auth/keys.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError, type Reason } from "../../engine/errors.ts";
import { createAuthenticator } from "./authenticator.ts";
import { parseAuthConfig, type Settings } from "./config.ts";
import { meshLimits } from "./mesh.ts";

async function setup(settings: Settings = {}) {
  const clock = new SimulatedClock(Date.now());
  const daemon = await MeshDaemon.start();
  const reports: string[] = [];
  const keys = new ApiKeys({ store: new MemoryStore(), clock, random: new NodeRandom() });
  const config = parseAuthConfig({ SERVICE_AUTH_MODE: "mesh", SERVICE_MESH_SOCKET: daemon.socketPath, ...settings });
  const authenticator = createAuthenticator(config, { keys, clock, report: (message) => reports.push(message) });
  const from = async (remoteAddress: string | undefined, remotePort: number | undefined, authorization?: string) =>
    authenticator.authenticate({ remoteAddress, remotePort, authorization });
  return {
    authenticator,
    clock,
    daemon,
    keys,
    reports,
    from,
    async [Symbol.asyncDispose]() {
      authenticator.close();
      await daemon[Symbol.asyncDispose]();
    },
  };
}

async function refused(answer: Promise<Principal>, reason: Reason): Promise<void> {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof EngineError, String(error));
    assert.equal(error.reason, reason, error.message);
    return true;
  });
}

test("a peer is the user that the daemon names", async () => {
  await using it = await setup();
  it.daemon.peers.set("100.64.0.1:4000", user("ada@example.com", 1));
  it.daemon.peers.set("[fd7a::1]:4000", user("bob@github", 2));
  assert.deepEqual(await it.from("100.64.0.1", 4000), {
    id: "1",
    kind: "user",
    displayName: "Ada Example",
    email: "ada@example.com",
    role: "writer",
    method: "mesh",
  });
  assert.equal((await it.from("::ffff:100.64.0.1", 4000)).id, "1");
  const bob = await it.from("fd7a::1", 4000);
  assert.deepEqual([bob.id, bob.email], ["2", undefined]);
});

test("who is not in the mesh, or has no address, is refused", async () => {
  await using it = await setup();
  it.daemon.peers.set("100.64.0.1:4000", user("ada@example.com", 1));
  await refused(it.from("100.64.0.1", 4001), "unauthenticated");
  await refused(it.from("192.0.2.1", 4000), "unauthenticated");
  await refused(it.from("100.64.0.1", undefined), "unauthenticated");
  await refused(it.from("", 4000), "unauthenticated");
  await refused(it.from(undefined, undefined), "unauthenticated");
});

test("the allowlist and the role setting hold", async () => {
  await using it = await setup({
    SERVICE_MESH_ALLOWED_USERS: "Ada@Example.com, tag:ci",
    SERVICE_MESH_DEFAULT_ROLE: "reader",
  });
  it.daemon.peers.set("100.64.0.1:1", user("ada@example.com", 1));
  it.daemon.peers.set("100.64.0.2:1", user("eve@example.com", 2));
  it.daemon.peers.set("100.64.0.3:1", taggedMachine(["tag:web", "tag:ci"]));
  it.daemon.peers.set("100.64.0.4:1", taggedMachine(["tag:web"]));
  assert.equal((await it.from("100.64.0.1", 1)).role, "reader");
  await refused(it.from("100.64.0.2", 1), "permission_denied");
  assert.deepEqual(await it.from("100.64.0.3", 1), {
    id: "mesh-node:n30",
    kind: "service_account",
    displayName: "runner.net.example",
    role: "reader",
    method: "mesh",
  });
  await refused(it.from("100.64.0.4", 1), "permission_denied");
});

test("without an allowlist a tagged machine is still not admitted", async () => {
  await using it = await setup();
  it.daemon.peers.set("100.64.0.3:1", taggedMachine(["tag:ci"]));
  await refused(it.from("100.64.0.3", 1), "permission_denied");
});

const broken: readonly Whois[] = [
  "",
  "{",
  "null",
  "[]",
  {},
  { Node: {}, UserProfile: {} },
  { Node: { ID: 1 }, UserProfile: { ID: 1, LoginName: "" } },
  { Node: { ID: 1 }, UserProfile: { LoginName: "ada@example.com" } },
  { Node: { ID: 1, Tags: "tag:ci" }, UserProfile: { ID: 1, LoginName: "ada@example.com" } },
  `"${"x".repeat(meshLimits.answerBytesMax)}"`,
];

for (const answer of broken) {
  test(`the answer ${JSON.stringify(answer).slice(0, 60)} admits nobody`, async () => {
    await using it = await setup();
    it.daemon.peers.set("100.64.0.1:1", answer);
    await refused(it.from("100.64.0.1", 1), "unavailable");
  });
}

test("a daemon in trouble or gone admits nobody, and is used again once it is back", async () => {
  await using it = await setup();
  it.daemon.peers.set("100.64.0.1:1", user("ada@example.com", 1));
  it.daemon.status = 500;
  await refused(it.from("100.64.0.1", 1), "unavailable");
  await it.daemon.stop();
  await refused(it.from("100.64.0.1", 1), "unavailable");
  assert.equal(it.reports.length, 1, "it is reported once");
  it.daemon.status = undefined;
  await it.daemon.listen();
  assert.equal((await it.from("100.64.0.1", 1)).id, "1");
  assert.match(it.reports[1]!, /answers again/);
});

test("a daemon that does not answer is not waited for without end", async () => {
  await using it = await setup();
  it.daemon.silent = true;
  await refused(it.from("100.64.0.1", 1), "unavailable");
});

test("answers are kept for a short time, those for loopback ports not at all", async () => {
  await using it = await setup();
  it.daemon.peers.set("100.64.0.1:1", user("ada@example.com", 1));
  it.daemon.peers.set("127.0.0.1:1", user("ada@example.com", 1));
  await it.from("100.64.0.1", 1);
  await it.from("100.64.0.1", 1);
  assert.equal(it.daemon.asked.length, 1);
  it.daemon.peers.delete("100.64.0.1:1");
  it.clock.advance(meshLimits.answerKeptMs);
  await refused(it.from("100.64.0.1", 1), "unauthenticated");
  await it.from("127.0.0.1", 1);
  it.daemon.peers.set("127.0.0.1:1", user("bob@example.com", 2));
  assert.equal((await it.from("127.0.0.1", 1)).id, "2");
});

test("questions under way at a time are bounded, and one address asks once", async () => {
  await using it = await setup();
  it.daemon.silent = true;
  const ports = Array.from({ length: meshLimits.questionsMax }, (_, n) => n + 1);
  const waiting = [...ports, 1].map((port) => refused(it.from("100.64.0.1", port), "unavailable"));
  await assert.rejects(it.from("100.64.0.2", 1), /too many questions/);
  it.authenticator.close();
  await Promise.all(waiting);
  assert.ok(it.daemon.asked.length <= meshLimits.questionsMax);
});

test("beside keys, a named credential decides and its absence asks the mesh", async () => {
  await using it = await setup({ SERVICE_AUTH_MODE: "apikey,mesh" });
  it.daemon.peers.set("100.64.0.1:1", user("ada@example.com", 1));
  const { key } = await it.keys.create({ name: "ci", role: "reader" });
  assert.equal((await it.from("100.64.0.1", 1)).method, "mesh");
  assert.equal((await it.from("100.64.0.1", 1, `Bearer ${key}`)).method, "apikey");
  await it.keys.revoke("ci");
  await refused(it.from("100.64.0.1", 1, `Bearer ${key}`), "unauthenticated");
});

test("alone, the mesh does not look at a credential", async () => {
  await using it = await setup();
  it.daemon.peers.set("100.64.0.1:1", user("ada@example.com", 1));
  assert.equal((await it.from("100.64.0.1", 1, "Bearer anything")).id, "1");
});
