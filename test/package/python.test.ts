/** The Python client, built as a wheel, installed into an empty environment and tested there against a real server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "../support/process.ts";
import { root } from "../support/source.ts";

const run = promisify(execFile);
const isThere = await run("python3", ["-c", "import sys, venv; assert sys.version_info >= (3, 10)"]).then(
  () => true,
  () => false,
);

test("the Python client passes its tests from its wheel", { skip: isThere ? false : "no Python 3.10" }, async () => {
  const folder = await temporaryFolder();
  try {
    const python = join(folder, "environment/bin/python");
    await run("python3", ["-m", "venv", join(folder, "environment")]);
    const pip = (...args: string[]) => run(python, ["-m", "pip", "--disable-pip-version-check", "--quiet", ...args]);
    // A copy: a build leaves files behind.
    await cp(join(root, "clients/python"), join(folder, "source"), { recursive: true });
    await pip("wheel", "--no-deps", "--wheel-dir", folder, join(folder, "source"));
    const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl"));
    assert.match(wheel ?? "", /^native_engine_client-\d+\.\d+\.\d+-py3-none-any\.whl$/);
    await pip("install", `${join(folder, wheel!)}[test]`);
    const options = { cwd: join(root, "clients/python"), maxBuffer: 64 * 1024 * 1024 };
    const pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"];
    const { stdout } = await run(python, pytest, options).catch((error: { stdout: string; stderr: string }) =>
      assert.fail(`${error.stdout}\n${error.stderr}`),
    );
    assert.match(stdout, /\d+ passed/);
    assert.doesNotMatch(stdout, /skipped/);
    const types = await run(python, ["-m", "mypy", "--cache-dir", join(folder, "mypy")], options).catch(
      (error: { stdout: string }) => assert.fail(error.stdout),
    );
    assert.match(types.stdout, /no issues found/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
