import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { blocksOf, DocsRun } from "../support/docs.ts";
import { ServerProcess } from "../support/process.ts";
import { root } from "../support/source.ts";

/** Proves: who follows docs/live.md from its top to its end gets a backend of functions, and a program that watches it. */
test("every command and program of docs/live.md works", { timeout: 300_000 }, async () => {
  if (!existsSync(join(root, "build/client/index.js"))) {
    await promisify(execFile)(process.execPath, [join(root, "scripts/client.ts")]);
  }
  // In the project, where its packages are found by their names.
  const folder = join(root, "tmp", `live-docs-${process.pid}`);
  await using server = await ServerProcess.start();
  try {
    const run = await DocsRun.open(server, folder, { SERVICE_LIVE_URL: server.live });
    for (const block of await blocksOf("docs/live.md")) {
      const [, name] = /^\/\/ (\S+\.tsx?)\n/.exec(block.text) ?? [];
      if (name === undefined) await run.run(block);
      else {
        await mkdir(dirname(join(folder, name)), { recursive: true });
        await writeFile(join(folder, name), run.placed(block.text));
        if (block.answer === undefined) continue;
        const { stdout } = await promisify(execFile)(process.execPath, [name], { cwd: folder });
        assert.equal(stdout, block.answer.text);
      }
    }
    const entryPoints = [join(folder, "room.tsx")];
    const { outputFiles } = await build({ entryPoints, jsx: "automatic", bundle: true, write: false });
    assert.equal(outputFiles.length, 1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
