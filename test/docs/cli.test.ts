import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
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
  test(`every command of ${page} runs`, { timeout: 600_000 }, async () => {
    const run = await DocsRun.open(server, join(folder, page));
    const blocks = await blocksOf(page);
    assert.ok(blocks.length > 0);
    for (const block of blocks) await run.run(block);
  });
}

test("every command of docs/quickstart-operate.md runs, on the server that it starts", {
  timeout: 600_000,
}, async (t) => {
  const page = "docs/quickstart-operate.md";
  const own = join(folder, page);
  const off = { SERVICE_POSTGRES_LISTEN: "off", SERVICE_MYSQL_LISTEN: "off", SERVICE_LIVE_LISTEN: "off" };
  const run = await DocsRun.open(server, own, off);
  const port = await freePort();
  t.after(async () => {
    // A page that failed on its way has not stopped what it started.
    const pid = Number(await readFile(join(own, "engine.pid"), "utf8").catch(() => "0"));
    try {
      if (pid > 0) process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  });
  // A start takes as long as the machine lets it.
  const placed = (text: string) => text.replaceAll("8443", port).replace("--retry 60", "--retry 280");
  for (const block of await blocksOf(page)) await run.run({ ...block, text: placed(block.text) });
});

/** One that nobody listened on a moment ago: the page names its port before anything listens there. */
async function freePort(): Promise<string> {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  const { port } = holder.address() as AddressInfo;
  holder.close();
  await once(holder, "close");
  return String(port);
}

test("the programs of docs/client.md run and print what it says", { timeout: 300_000 }, async () => {
  const run = await DocsRun.open(server, join(folder, "client"));
  for (const block of await blocksOf("docs/client.md")) await run.run(block);
});
