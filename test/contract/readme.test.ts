import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { ServerProcess } from "../support/process.ts";
import { root } from "../support/source.ts";

const run = promisify(execFile);

/** The tour, block by block, against a server of its own; each answer must be one of success. */
test("every command of the readme's tour works", { timeout: 120_000 }, async () => {
  const readme = await readFile(join(root, "README.md"), "utf8");
  const tour = readme.slice(readme.indexOf("## Five minutes"), readme.indexOf("## RPC"));
  const blocks = Array.from(tour.matchAll(/^```sh\n(.*?)^```/gms), ([, block]) => block!);
  assert.ok(blocks.length >= 10);
  await using server = await ServerProcess.start({ env: { SERVICE_RUN_MODE: "development" } });
  const { host } = new URL(server.url);
  for (const block of blocks) {
    const script = block
      .replaceAll("localhost:8080", host)
      .replaceAll("max_wait_ms=10000", "max_wait_ms=100")
      // A live tail has no end of its own.
      .replaceAll("curl -N", "timeout 2 curl -N")
      .replaceAll("curl ", "curl --fail-with-body --silent --show-error ");
    const isTail = script.includes("timeout 2");
    const { stdout } = await run("bash", ["-c", `set -eo pipefail\n${script}`]).catch((error: unknown) => {
      const failed = error as { code: number; stdout: string; stderr: string };
      if (isTail && failed.code === 124) return failed;
      return assert.fail(`${block}\n${failed.stdout}\n${failed.stderr}`);
    });
    assert.notEqual(stdout, "", block);
  }
});
