/** The Python client, built as a wheel, installed into an empty environment and tested there against a real server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, cp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { blocksOf, DocsRun } from "../support/docs.ts";
import { startEmbeddings } from "../support/embeddings.ts";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { root } from "../support/source.ts";
import { eventually } from "../support/streams.ts";

const run = promisify(execFile);
const isThere = await run("python3", ["-c", "import sys, venv; assert sys.version_info >= (3, 10)"]).then(
  () => true,
  () => false,
);

/** Their programs need more than a machine with Python has, the quick start's model among it. The README makes what the last two read. */
const pages = [
  ...["README.md", "docs/python.md", "docs/quickstart-search.md", "docs/quickstart-sql.md"],
  ...["docs/flight-sql.md", "docs/lance.md"],
];
const packages = ["wordllama==0.4.0.post1", "pylance"];

async function runPages(folder: string, python: string): Promise<void> {
  await using server = await ServerProcess.start({ env: { SERVICE_RUN_MODE: "development" } });
  const embeddings = await startEmbeddings();
  try {
    const run = await DocsRun.open(server, folder, { EMBEDDINGS_URL: embeddings.url });
    const command = join(folder, "python3");
    await writeFile(command, `#!/bin/sh\nexec "${python}" "$@"\n`);
    await chmod(command, 0o755);
    for (const page of pages) {
      if (page === "docs/lance.md") await untilCommitted(server);
      for (const block of await blocksOf(page)) {
        if (block.text === "npm start\n") continue;
        const reason = await run.missing(block);
        if (block.language === "python") assert.equal(reason, undefined);
        if (reason === undefined) await run.run(block);
      }
    }
  } finally {
    embeddings.close();
  }
}

/** A collection's documents are in its dataset a moment after their write. */
async function untilCommitted(server: ServerProcess): Promise<void> {
  const scan = () => ask(`${server.url}/v1/namespaces/shop/collections/items/scan`, { method: "POST" });
  await eventually(scan, ({ json }) => json.lance !== null && json.tail_records === 0);
}

test("the Python client passes its tests from its wheel, and the pages' programs run", {
  skip: isThere ? false : "no Python 3.10",
}, async () => {
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
    await pip("install", ...packages);
    await runPages(join(folder, "pages"), python);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
