import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig, parseDuration, settings, settingsHelp } from "./config.ts";
import { EngineError } from "./engine/errors.ts";

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
