import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";

let folder: string;
before(async () => {
  folder = await temporaryFolder();
});
after(() => rm(folder, { recursive: true, force: true }));

const flags = ["--listen", "--data-dir", "--mode", "--cloudevents-dedup-window", "--config"];

test("--version prints the package's version", async () => {
  const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  for (const word of ["--version", "-V", "version"]) {
    assert.deepEqual(await runCommand([word]), { code: 0, stdout: `${manifest.version}\n`, stderr: "" });
  }
});

for (const args of [["--help"], ["help"], ["serve", "--help"], ["help", "serve"]]) {
  test(`${args.join(" ")} names the commands, flags and variables`, async () => {
    const { code, stdout } = await runCommand(args);
    assert.equal(code, 0);
    for (const each of ["serve", ...flags, "SERVICE_LISTEN", "SERVICE_DATA_DIR", "SERVICE_RUN_MODE"]) {
      assert.ok(stdout.includes(each), each);
    }
  });
}

for (const [args, want] of [
  [[], /no command/],
  [["frobnicate"], /unknown command frobnicate\n/],
  [["strem"], /unknown command strem; did you mean stream\?/],
  [["--bogus"], /--bogus/],
] as const) {
  test(`the command line ${JSON.stringify(args)} is refused with the usage`, async () => {
    const { code, stderr } = await runCommand(args);
    assert.equal(code, 2);
    assert.match(stderr, want);
    assert.match(stderr, /native-engine serve/);
  });
}

// Every other setting is refused in the same way; src/composition/config/config.test.ts has them all.
for (const [args, env, want] of [
  [["--prot", "1"], {}, [/--prot/, ...flags.map((flag) => new RegExp(flag))]],
  [["--data-dri=x"], {}, [/did you mean --data-dir\?/]],
  [["--mode", "fast"], {}, [/--mode/, /development, production/]],
  [[], { SERVICE_LISTEN: "nowhere" }, [/SERVICE_LISTEN/, /port/]],
  [[], { SERVICE_LIVE_LISTEN: "nowhere" }, [/SERVICE_LIVE_LISTEN/, /port/]],
] as const) {
  test(`serve ${JSON.stringify(args)} with ${JSON.stringify(env)} is refused, saying what is valid`, async () => {
    const { code, stderr } = await runCommand(["serve", ...args], env);
    assert.equal(code, 2, stderr);
    for (const each of want) assert.match(stderr, each);
    assert.doesNotMatch(stderr, /\n\s+at /, "no stack trace for a user's mistake");
  });
}

function loggedMode(server: ServerProcess): string {
  const line = server.logs.find((each) => each.includes('"url"'))!;
  return JSON.parse(line).mode;
}

test("settings come from the file, from variables over it and from flags over both", async () => {
  const file = join(folder, "config.json");
  await writeFile(file, JSON.stringify({ mode: "development" }));
  for (const [given, env, want] of [
    [[], { SERVICE_CONFIG_FILE: file }, "development"],
    [["--config", file, "--mode=production"], { SERVICE_RUN_MODE: "development" }, "production"],
  ] as const) {
    await using server = await ServerProcess.start({ flags: given, env });
    assert.equal(loggedMode(server), want, JSON.stringify([given, env]));
  }
});

test("SERVICE_LISTEN and SERVICE_DATA_DIR are taken, and an empty variable is none", async () => {
  const dataDir = join(folder, "from-env", "deep");
  const env = { SERVICE_DATA_DIR: dataDir, SERVICE_LISTEN: "127.0.0.1:1", SERVICE_RUN_MODE: "" };
  // The helper's own flags win over both; what is left is that the folder is made where it is missing.
  await using server = await ServerProcess.start({ env, dataDir });
  assert.equal(loggedMode(server), "production");
  assert.equal((await ask(`${server.url}/ready`)).status, 200);
});

test("the Live engine listens where it is told to, or not at all", async () => {
  await using server = await ServerProcess.start();
  assert.equal((await ask(`${server.live}/health`)).status, 200);
  assert.equal((await ask(`${server.live}/v1/namespaces`)).status, 404);
  const taken = ServerProcess.start({ env: { SERVICE_LIVE_LISTEN: new URL(server.live).host } });
  await assert.rejects(taken, /SERVICE_LIVE_LISTEN: can't listen on/);
  await using off = await ServerProcess.start({ env: { SERVICE_LIVE_LISTEN: "off" } });
  assert.ok(!off.logs.some((line) => line.includes('"live":')), off.logs.join("\n"));
});

test("a start at which no key would be let in says so, and how to make one", async () => {
  for (const [env, isTold] of [
    [{ SERVICE_AUTH_MODE: "apikey" }, true],
    [{ SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: "me:admin:a-key-of-the-settings-0123456789" }, false],
  ] as const) {
    await using server = await ServerProcess.start({ env });
    const told = server.logs.filter((line) => line.includes("native-engine keys create"));
    assert.equal(told.length, isTold ? 1 : 0, server.logs.join("\n"));
  }
});

test("a second process on the same data refuses to start, by any path, and harms nothing", async () => {
  await using server = await ServerProcess.start();
  const link = join(folder, "link");
  await symlink(server.dataDir, link);
  for (const dataDir of [server.dataDir, `${server.dataDir}/.`, link]) {
    const { code, stdout } = await runCommand(["serve", "--listen", "127.0.0.1:0", "--data-dir", dataDir]);
    assert.equal(code, 1);
    assert.match(stdout, /another process uses the data directory/);
  }
  assert.equal((await ask(`${server.url}/ready`)).status, 200);
  await server.kill();
  await using next = await ServerProcess.start({ dataDir: server.dataDir });
  assert.equal((await ask(`${next.url}/ready`)).status, 200);
});

test("a port that is taken ends the start with a message, and leaves the data free", { timeout: 50_000 }, async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as { port: number };
  const dataDir = join(folder, "taken");
  try {
    const { code, stdout } = await runCommand(["serve", "--listen", `127.0.0.1:${port}`, "--data-dir", dataDir]);
    assert.equal(code, 1);
    assert.match(stdout, /EADDRINUSE/);
  } finally {
    taken.close();
  }
  await using server = await ServerProcess.start({ dataDir });
  assert.equal((await ask(`${server.url}/ready`)).status, 200);
});

test("a data directory that can't be made is a clear message", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");
  const { code, stdout } = await runCommand(["serve", "--listen", "127.0.0.1:0", "--data-dir", join(file, "data")]);
  assert.equal(code, 1);
  assert.match(stdout, /could not start/);
});
