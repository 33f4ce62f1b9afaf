import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { EngineError } from "../../engine/errors.ts";
import { loadConfig, loadServerConfig, settingsHelp } from "./config.ts";
import { settings } from "./settings.ts";
import { parseDuration } from "./values.ts";

const folder = mkdtempSync(join(tmpdir(), "native-engine-config-"));
after(() => rmSync(folder, { recursive: true }));

let written = 0;
function fileOf(content: string): string {
  const file = join(folder, `${written++}.json`);
  writeFileSync(file, content);
  return file;
}

for (const [text, ms] of [
  ["0ms", 0],
  ["250ms", 250],
  ["30s", 30_000],
  ["15m", 900_000],
  ["1h", 3_600_000],
  ["7d", 604_800_000],
  [" 1h ", 3_600_000],
] as const) {
  test(`the duration ${text} is ${ms} ms`, () => assert.equal(parseDuration(text, "x"), ms));
}

for (const text of ["", "1", "h", "-1s", "1.5h", "1 h", "1w", "1h30m", "1000000000000000s"]) {
  test(`${JSON.stringify(text)} is no duration`, () => {
    assert.throws(
      () => parseDuration(text, "--window"),
      (error) => error instanceof EngineError && error.details["field"] === "--window",
    );
  });
}

test("without settings the defaults hold", () => {
  const config = loadConfig({ argv: [], env: {} });
  assert.deepEqual(config.listen, { host: "127.0.0.1", port: 8080 });
  assert.equal(config.dataDir, "./data");
  assert.equal(config.mode, "production");
  assert.equal(config.dedupWindowMs, 3_600_000);
});

test("a flag is given as one word or two, and wins over its variable", () => {
  const env = { SERVICE_DATA_DIR: "from-env", SERVICE_LISTEN: "" };
  assert.equal(loadConfig({ argv: [], env }).dataDir, "from-env");
  assert.equal(loadConfig({ argv: ["--data-dir", "two"], env }).dataDir, "two");
  assert.equal(loadConfig({ argv: ["--data-dir=one=word"], env }).dataDir, "one=word");
});

test("every setting has a name of its own and its line in the help", () => {
  const all = Object.values(settings);
  assert.equal(new Set(all.map(({ env }) => env)).size, all.length);
  assert.equal(new Set(all.map(({ flag }) => flag)).size, all.length);
  for (const { env, flag } of all) {
    assert.match(env, /^SERVICE_[A-Z_]+$/);
    assert.ok(settingsHelp().includes(env) && settingsHelp().includes(`--${flag} `), env);
  }
});

test("the help tells what holds without a setting", () => {
  for (const line of [
    /--cloudevents-dedup-window .*; 1h unless set \(/,
    /--drain-timeout .*; 30s unless set \(/,
    /--connections-max .*; 20000 unless set \(/,
    /--mode .*; production unless set \(/,
    /--data-dir FOLDER +the data directory, .\/data unless set \(/,
  ]) {
    assert.match(settingsHelp(), line);
  }
});

for (const [argv, env, want] of [
  [["--prot", "1"], {}, [/--prot/, /--listen, .*--mode/]],
  [["stray"], {}, [/stray/, /--listen/]],
  [["-l", "1"], {}, [/-l/, /--listen/]],
  [["--listen"], {}, [/--listen/, /needs a value/]],
  [["--listen", "localhost"], {}, [/--listen/, /port/]],
  [["--listen", "127.0.0.1:99999"], {}, [/--listen/, /65535/]],
  [["--mode", "fast"], {}, [/--mode/, /development, production/]],
  [["--mode=production", "--mode=development"], {}, [/--mode/, /twice/]],
  [["--cloudevents-dedup-window", "soon"], {}, [/--cloudevents-dedup-window/, /ms, s, m, h or d/]],
  [["--connections-max", "0"], {}, [/--connections-max/, /1 to 1000000/]],
  [["--log-level", "loud"], {}, [/--log-level/, /debug, info/]],
  [["--data-dir", ""], {}, [/--data-dir/, /empty/]],
  [["--drain-timeout", "25d"], {}, [/--drain-timeout/, /0ms to 7d/]],
  [["--tls-check-interval", "2d"], {}, [/--tls-check-interval/, /10ms to 1d/]],
  [["--config", "missing/file.json"], {}, [/config/, /missing/]],
  [["--tls-cert-file", "a.pem"], {}, [/SERVICE_TLS_KEY_FILE/]],
  [[], { SERVICE_LISTEN: "nowhere" }, [/SERVICE_LISTEN/, /port/]],
  [[], { SERVICE_RUN_MODE: "fast" }, [/SERVICE_RUN_MODE/, /development, production/]],
  [["--config", fileOf("{")], {}, [/JSON/]],
  [["--config", fileOf("[]")], {}, [/object/]],
  [["--config", fileOf('{"prot":1}')], {}, [/prot/, /listen/]],
  [["--config", fileOf('{"mode":"fast"}')], {}, [/mode/, /development, production/]],
  [["--config", fileOf('{"listen":true}')], {}, [/listen/]],
] as const) {
  test(`${JSON.stringify(argv.map((each) => each.replace(folder, "")))} ${JSON.stringify(env)} is refused`, () => {
    assert.throws(
      () => loadConfig({ argv, env }),
      (error) => error instanceof EngineError && want.every((each) => each.test(error.message)),
    );
  });
}

test("flags win over the environment, that over the file, that over the defaults", () => {
  const file = fileOf('{"mode":"development","connections-max":50}');
  const fromFile = ["--config", file];
  for (const [argv, env, want] of [
    [[], {}, "production"],
    [[], { SERVICE_RUN_MODE: "development" }, "development"],
    [["--mode", "production"], { SERVICE_RUN_MODE: "development" }, "production"],
    [fromFile, {}, "development"],
    [[], { SERVICE_CONFIG_FILE: file }, "development"],
    [fromFile, { SERVICE_RUN_MODE: "production" }, "production"],
    [[...fromFile, "--mode=development"], { SERVICE_RUN_MODE: "production" }, "development"],
  ] as const) {
    assert.equal(loadConfig({ argv, env }).mode, want, JSON.stringify([argv, env]));
  }
  assert.equal(loadConfig({ argv: fromFile, env: {} }).connectionsMax, 50);
});

test("a secret comes from its variable or from a file, not from both; a variable that is empty is none", () => {
  const keys = "ci:writer:a-key-of-the-settings-0123456789";
  const file = fileOf(`${keys}\n`);
  const namesOf = (env: Record<string, string>) =>
    loadServerConfig({
      argv: [],
      env: { SERVICE_AUTH_MODE: "apikey", SERVICE_CONFIG_FILE: "", ...env },
    }).auth.fixedKeys.map(({ name }) => name);
  assert.deepEqual(namesOf({ SERVICE_API_KEYS: keys }), ["ci"]);
  assert.deepEqual(namesOf({ SERVICE_API_KEYS_FILE: file }), ["ci"]);
  assert.deepEqual(namesOf({ SERVICE_API_KEYS: keys, SERVICE_API_KEYS_FILE: "" }), ["ci"]);
  assert.deepEqual(namesOf({ SERVICE_API_KEYS: "", SERVICE_API_KEYS_FILE: file }), ["ci"]);
  for (const env of [
    { SERVICE_API_KEYS: keys, SERVICE_API_KEYS_FILE: file },
    { SERVICE_API_KEYS_FILE: join(folder, "missing") },
  ]) {
    assert.throws(
      () => namesOf(env),
      (error) =>
        error instanceof EngineError && /SERVICE_API_KEYS/.test(error.message) && !error.message.includes(keys),
    );
  }
});

test("settings of more than one value are JSON, in the file without quotes", () => {
  const push = { gatewayUrl: "https://push.example.com", appIds: { android: "com.example" }, unifiedpush: true };
  const origins = ["https://app.example.com", "http://localhost:3000"];
  const file = fileOf(
    JSON.stringify({ push, "min-app-versions": { ios: "1.0" }, "cors-origins": origins, "instance-name": "Lab" }),
  );
  const fromFile = loadConfig({ argv: ["--config", file], env: {} });
  assert.deepEqual(fromFile.push, push);
  assert.deepEqual(fromFile.minAppVersions, { ios: "1.0" });
  assert.deepEqual(fromFile.corsOrigins, origins);
  assert.equal(fromFile.instanceName, "Lab");
  const env = {
    SERVICE_PUSH: JSON.stringify(push),
    SERVICE_MIN_APP_VERSIONS: '{"desktop":"2.0"}',
    SERVICE_CORS_ORIGINS: origins.join(", "),
  };
  const fromEnv = loadConfig({ argv: [], env });
  assert.deepEqual([fromEnv.push, fromEnv.minAppVersions], [push, { desktop: "2.0" }]);
  assert.deepEqual(fromEnv.corsOrigins, origins);
});

for (const [name, value] of [
  ["SERVICE_HOUSE_URL", "house:80"],
  ["SERVICE_HOUSE_URL", "ftp://house"],
  ["SERVICE_HOUSE_URL", "http://user:word@house"],
  ["SERVICE_PUBLIC_URL", "https://a?b=c"],
  ["SERVICE_CORS_ORIGINS", "*"],
  ["SERVICE_CORS_ORIGINS", "https://a.example/"],
  ["SERVICE_CORS_ORIGINS", "null"],
  ["SERVICE_CORS_ORIGINS", "[1]"],
  ["SERVICE_PUSH", "{"],
  ["SERVICE_TLS_CHECK_INTERVAL", "1ms"],
  ["SERVICE_TLS_PINS", "yes"],
] as const) {
  test(`${name}=${value} is refused`, () => {
    assert.throws(
      () => loadConfig({ argv: [], env: { [name]: value } }),
      (error) => error instanceof EngineError && error.details["field"] === name,
    );
  });
}
