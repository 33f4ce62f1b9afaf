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
  test(`every command of ${page} runs`, { timeout: 300_000 }, async () => {
    const run = await DocsRun.open(server, join(folder, page));
    const blocks = await blocksOf(page);
    assert.ok(blocks.length > 0);
    for (const block of blocks) await run.run(block);
  });
}

test("every command of docs/quickstart-operate.md runs, on the server that it starts", {
  timeout: 300_000,
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
  for (const block of await blocksOf(page)) await run.run({ ...block, text: block.text.replaceAll("8443", port) });
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

test("the program of docs/client.md runs and prints what it says", async () => {
  const run = await DocsRun.open(server, join(folder, "client"));
  const [program] = await blocksOf("docs/client.md");
  const { stdout } = await run.run(program!);
  assert.match(stdout, /not_found 404/);
  assert.match(stdout, /1 The tide tables\n2 Tides and moons\n\[ \{ n: 1 \} \]\n2\n/);
});
