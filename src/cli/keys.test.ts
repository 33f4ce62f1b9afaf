import assert from "node:assert/strict";
import test from "node:test";
import { MemoryStore } from "../adapter/memory/store.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { SimulatedClock } from "../adapter/simulated/clock.ts";
import { ApiKeys } from "../engine/auth/keys.ts";
import { runKeys } from "./keys.ts";

function setup() {
  const clock = new SimulatedClock(Date.UTC(2030, 0, 1));
  const keys = new ApiKeys({ store: new MemoryStore(), clock, random: new NodeRandom() });
  const run = async (...argv: string[]) => {
    let stdout = "";
    let stderr = "";
    const io = {
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: (text: string) => (stderr += text) },
    };
    return { code: await runKeys(argv, io, keys), stdout, stderr };
  };
  return { clock, keys, run };
}

test("create shows the key once, alone on standard output", async () => {
  const { keys, run } = setup();
  const made = await run("create", "--name", "ci", "--role", "writer", "--namespace", "logs", "--expires", "90d");
  assert.equal(made.code, 0);
  const key = made.stdout.trim();
  assert.equal((keys.verify(key) as { namespace?: string }).namespace, "logs");
  assert.match(made.stderr, /ci \(writer, namespace logs, expires 2030-04-01T00:00:00.000Z\)/);
  const listed = await run("list");
  const lines = listed.stdout.trimEnd().split("\n");
  assert.match(lines[0]!, /^NAME +ROLE +NAMESPACE +STATUS +CREATED +EXPIRES +ID$/);
  assert.match(lines[1]!, /^ci +writer +logs +live +2030-01-01 +2030-04-01 +[0-9a-f]{16}$/);
  assert.ok(!listed.stdout.includes(key.slice(21)));
});

test("json output of every command", async () => {
  const { keys, run } = setup();
  const created = JSON.parse((await run("create", "--name=ci", "--role=admin", "--json")).stdout);
  const { key, ...told } = created;
  assert.equal((keys.verify(key) as { role: string }).role, "admin");
  assert.deepEqual(told, {
    name: "ci",
    id: keys.list()[0]?.id,
    role: "admin",
    namespace: null,
    status: "live",
    created_at: "2030-01-01T00:00:00.000Z",
    expires_at: null,
    revoked_at: null,
  });
  assert.deepEqual(JSON.parse((await run("list", "--json")).stdout), { keys: [told] });
  const revoked = { ...told, status: "revoked", revoked_at: "2030-01-01T00:00:00.000Z" };
  assert.deepEqual(JSON.parse((await run("revoke", "ci", "--json")).stdout), revoked);
  assert.deepEqual(JSON.parse((await run("list", "--json")).stdout), { keys: [revoked] });
});

test("revoke, and the list without keys", async () => {
  const { run } = setup();
  assert.equal((await run("list")).stdout, "There are no keys.\n");
  await run("create", "--name", "ci", "--role", "reader");
  assert.deepEqual(await run("revoke", "ci"), { code: 0, stdout: "Revoked the key ci.\n", stderr: "" });
  await run("create", "--name", "cd", "--role", "reader");
  assert.equal((await run("revoke", "--name", "cd")).stdout, "Revoked the key cd.\n");
  const again = await run("revoke", "ci");
  assert.deepEqual([again.code, again.stdout], [1, ""]);
  assert.match(again.stderr, /no live key/);
});

const mistakes: readonly (readonly [readonly string[], number, RegExp])[] = [
  [[], 2, /usage/],
  [["make"], 2, /usage/],
  [["create", "--role", "reader"], 2, /--name is missing/],
  [["create", "--name", "a"], 2, /--role is missing/],
  [["create", "--name", "a", "--role", "reader", "--colour", "red"], 2, /--colour/],
  [["create", "--name", "a", "--role", "reader", "extra"], 2, /usage/],
  [["create", "--name", "a", "--role", "owner"], 1, /role: /],
  [["create", "--name", "a b", "--role", "reader"], 1, /name: /],
  [["create", "--name", "a", "--role", "reader", "--namespace", "-"], 1, /namespace: /],
  [["create", "--name", "a", "--role", "reader", "--expires", "soon"], 1, /expires: /],
  [["create", "--name", "a", "--role", "reader", "--expires", "0d"], 1, /expires: /],
  [["create", "--name", "a", "--role", "reader", "--expires", "99999999d"], 1, /expires: /],
  [["list", "extra"], 2, /usage/],
  [["revoke"], 2, /usage/],
  [["revoke", "a", "b"], 2, /usage/],
  [["revoke", "--name", "a", "b"], 2, /usage/],
  [["revoke", "--name"], 2, /usage/],
];

for (const [argv, code, pattern] of mistakes) {
  test(`keys ${argv.join(" ")} exits with ${code}`, async () => {
    const { keys, run } = setup();
    const done = await run(...argv);
    assert.deepEqual([done.code, done.stdout], [code, ""]);
    assert.match(done.stderr, pattern);
    assert.deepEqual(keys.list(), []);
  });
}
