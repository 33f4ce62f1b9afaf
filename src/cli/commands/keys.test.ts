import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { NodeClock } from "../../adapter/node/clock.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { onAuthStore } from "../../composition/auth-store.ts";
import { ApiKeys } from "../../engine/auth/keys.ts";
import type { Streams } from "../context.ts";
import { runTable } from "../run.ts";
import { normalised } from "../words.ts";

const folder = await mkdtemp(join(tmpdir(), "keys-"));
after(() => rm(folder, { recursive: true }));
let folders = 0;

/** A data directory of its own, on which no server runs. */
function setup() {
  const dataDir = join(folder, String(folders++));
  // Nothing listens there.
  const env = { SERVICE_DATA_DIR: dataDir, SERVICE_URL: "http://127.0.0.1:1" };
  const run = async (...argv: string[]) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const io = { stdin: process.stdin, stdout, stderr } as unknown as Streams;
    const code = await runTable(normalised(["keys", ...argv]), io, env);
    stdout.end();
    stderr.end();
    return { code, stdout: await text(stdout), stderr: await text(stderr) };
  };
  const onKeys = <T>(look: (keys: ApiKeys) => T) =>
    onAuthStore(dataDir, async (store) =>
      look(new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() })),
    );
  return { run, onKeys };
}

test("create shows the key once, alone on standard output", async () => {
  const { run, onKeys } = setup();
  const made = await run("create", "--name", "ci", "--role", "writer", "--namespace", "logs", "--expires", "90d");
  assert.equal(made.code, 0, made.stderr);
  const key = made.stdout.trim();
  assert.deepEqual(((await onKeys((keys) => keys.verify(key))) as { namespaces?: string[] }).namespaces, ["logs"]);
  assert.match(made.stderr, /ci \(writer, namespace logs, expires 2\d{3}-.*\)/);
  const listed = await run("list");
  const lines = listed.stdout.trimEnd().split("\n");
  assert.match(lines[0]!, /^NAME +ROLE +NAMESPACE +STATUS +CREATED +EXPIRES +ID$/);
  assert.match(lines.at(-1)!, /^ci +writer +logs +live +\d{4}-\d\d-\d\d +\d{4}-\d\d-\d\d +[0-9a-f]{16}$/);
  assert.ok(!listed.stdout.includes(key.slice(21)));
});

test("a key for several namespaces", async () => {
  const { run, onKeys } = setup();
  const made = await run("create", "ci", "--role", "reader", "-n", "shop", "-nlogs,mail");
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stderr, /ci \(reader, namespaces logs, mail, shop, no expiry\)/);
  const principal = await onKeys((keys) => keys.verify(made.stdout.trim()));
  assert.deepEqual((principal as { namespaces?: string[] }).namespaces, ["logs", "mail", "shop"]);
  assert.match((await run("list")).stdout, /ci +reader +logs,mail,shop +live/);
});

test("json output of every command", async () => {
  const { run, onKeys } = setup();
  const created = JSON.parse((await run("create", "--name=ci", "--role=admin", "--json")).stdout);
  const { key, ...told } = created;
  assert.equal(((await onKeys((keys) => keys.verify(key))) as { role: string }).role, "admin");
  const { id, created_at } = told;
  const scope = { role: "admin", namespace: null, namespaces: null };
  const live = { name: "ci", id, ...scope, status: "live", created_at, expires_at: null, revoked_at: null };
  assert.deepEqual(told, live);
  assert.deepEqual(JSON.parse((await run("list", "--json")).stdout), { keys: [told] });
  const revoked = JSON.parse((await run("revoke", "ci", "--json")).stdout);
  assert.deepEqual(revoked, { ...told, status: "revoked", revoked_at: revoked.revoked_at });
  assert.ok(revoked.revoked_at >= created_at);
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
  assert.deepEqual([again.code, again.stdout], [5, ""]);
  assert.match(again.stderr, /no live key/);
});

test("help", async () => {
  const { run } = setup();
  assert.match((await run("--help")).stdout, /keys revoke/);
  assert.match((await run("create", "--help")).stdout, /--role ROLE .*\(admin, writer, reader\)/);
});

const mistakes: readonly (readonly [readonly string[], number, RegExp])[] = [
  [[], 2, /a command is missing/],
  [["make"], 2, /unknown command keys make/],
  [["create", "--role", "reader"], 2, /--name is missing/],
  [["create", "--name", "a"], 2, /--role is missing\nSee native-engine keys create --help/],
  [["create", "--name", "a", "--role", "reader", "--colour", "red"], 2, /unknown option --colour\n/],
  [["create", "--name", "a", "--rol", "reader"], 2, /unknown option --rol; did you mean --role\?/],
  [["create", "--name", "a", "--role", "reader", "extra"], 2, /give one name/],
  [["create", "--name", "a", "--role", "owner"], 2, /--role must be one of/],
  [["create", "--name", "a b", "--role", "reader"], 1, /name: /],
  [["create", "--name", "a", "--role", "reader", "--namespace", "a b"], 1, /namespace: /],
  [["create", "--name", "a", "--role", "reader", "--expires", "soon"], 1, /expires: /],
  [["create", "--name", "a", "--role", "reader", "--expires", "0d"], 1, /expires: /],
  [["create", "--name", "a", "--role", "reader", "--expires", "99999999d"], 1, /expires: /],
  [["list", "extra"], 2, /unexpected argument extra/],
  [["revoke"], 2, /--name is missing/],
  [["revoke", "a", "b"], 2, /unexpected argument b/],
  [["revoke", "--name", "a", "b"], 2, /give one name/],
  [["revoke", "--name"], 2, /--name needs a value: --name NAME/],
];

for (const [argv, code, pattern] of mistakes) {
  test(`keys ${argv.join(" ")} exits with ${code}`, async () => {
    const { run, onKeys } = setup();
    const done = await run(...argv);
    assert.deepEqual([done.code, done.stdout], [code, ""]);
    assert.match(done.stderr, pattern);
    assert.deepEqual(await onKeys((keys) => keys.list()), []);
  });
}
