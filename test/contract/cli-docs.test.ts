import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { blocksOf, DocsRun } from "../support/docs.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

let server: ServerProcess;
let folder: string;
before(async () => {
  folder = await temporaryFolder();
  server = await ServerProcess.start();
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

for (const page of ["docs/cli.md", "docs/operations.md"]) {
  test(`every command of ${page} runs`, { timeout: 300_000 }, async () => {
    const run = await DocsRun.open(server, join(folder, page));
    const blocks = await blocksOf(page);
    assert.ok(blocks.length > 0);
    for (const block of blocks) await run.run(block);
  });
}

test("the program of docs/client.md runs and prints what it says", async () => {
  const run = await DocsRun.open(server, join(folder, "client"));
  const [program] = await blocksOf("docs/client.md");
  const { stdout } = await run.run(program!);
  assert.match(stdout, /not_found 404/);
  assert.match(stdout, /1 The tide tables\n2 Tides and moons\n\[ \{ n: 1 \} \]\n2\n/);
});
