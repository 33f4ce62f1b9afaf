import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CommandLine } from "../support/command-line.ts";
import { importKilled, lineOf, storedRows } from "../support/killed-import.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

const rows = 100_000;
let server: ServerProcess;
let folder: string;
let cli: CommandLine;
before(async () => {
  folder = await temporaryFolder();
  server = await ServerProcess.start();
  cli = new CommandLine(server, "n");
  await cli.ok(["ns", "create", "n"]);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

for (const target of ["stream", "collection"] as const) {
  test(`100,000 lines into a ${target}, killed at many moments, are all there once`, { timeout: 600_000 }, async () => {
    const path = join(folder, `${target}.jsonl`);
    await writeFile(path, Array.from({ length: rows }, (_, i) => lineOf(i)).join("\n"));
    const kills = await importKilled({ cli, path, target, name: target, batch: 1_000, kills: 12 });
    assert.ok(kills >= 8, `${kills} kills came while it ran`);
    await storedRows(server.url, "n", target, target, rows);
  });
}
