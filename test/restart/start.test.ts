import assert from "node:assert/strict";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";
import { startServer } from "../wire/mysql/server.ts";
import { post } from "../wire/rpc/clients.ts";

test("a start that fails says why and ends", async () => {
  await using running = await ServerProcess.start();
  const start = async (...flags: string[]) => {
    const dataDir = await temporaryFolder();
    const failed = await runCommand(["serve", "--data-dir", dataDir, ...flags]);
    await rm(dataDir, { recursive: true });
    return [failed.code, failed.stdout + failed.stderr] as const;
  };
  const table: [flags: string[], code: number, said: RegExp][] = [
    [["--listen", "0.0.0.0:0"], 1, /SERVICE_AUTH_MODE: off admits everyone/],
    [["--listen", new URL(running.url).host], 1, /EADDRINUSE/],
    [["--listen", "127.0.0.1:0", "--house-url", "http://user:pass@house"], 2, /--house-url: must have no credentials/],
    [["--listen", "127.0.0.1:0", "--cors-origins", "*"], 2, /--cors-origins: "\*" is no origin/],
    [["--listen", "127.0.0.1:0", "--push", "{"], 2, /--push: must be JSON/],
  ];
  for (const [flags, code, said] of table) {
    const [got, text] = await start(...flags);
    assert.equal(got, code, text);
    assert.match(text, said);
  }
});

test("an address that was set and is taken stops the start, `off` is off", async () => {
  const { server, port } = await startServer();
  await using _ = server;
  const taken = startServer({ env: { SERVICE_MYSQL_LISTEN: `127.0.0.1:${port}` } });
  await assert.rejects(taken, /SERVICE_MYSQL_LISTEN: can't listen on/);
  await using off = await ServerProcess.start({ env: { SERVICE_MYSQL_LISTEN: "off", SERVICE_POSTGRES_LISTEN: "off" } });
  assert.equal((await ask(`${off.url}/health`)).status, 200);
  assert.ok(!off.logs.join("\n").includes("MySQL"));
});

async function get(url: string, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<number> {
  const asked = request(new URL(path, url), { method, headers: { connection: "close", ...headers } }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? 0;
}

test("the Live engine can be off, and a default port that is taken is a warning", async () => {
  await using off = await ServerProcess.start({ env: { SERVICE_LIVE_LISTEN: "off" } });
  const { json: told } = await post(`${off.url}/service.instance.v1.InstanceService/GetInstance`, "{}");
  assert.equal((told as { features: Record<string, boolean> }).features["live"], false);
  assert.ok(!off.logs.join("\n").includes('"live":"'));
  const holder = createServer();
  // Taken by this test or by somebody else already: it is taken.
  await new Promise<void>((resolve) => holder.once("error", () => resolve()).listen(7710, "127.0.0.1", resolve));
  try {
    await using server = await ServerProcess.start({ env: { SERVICE_LIVE_LISTEN: "" } });
    assert.match(server.logs.join("\n"), /"level":40.*127\.0\.0\.1:7710 is taken, so the Live engine has no port/);
    const { json: told } = await post(`${server.url}/service.instance.v1.InstanceService/GetInstance`, "{}");
    assert.equal((told as { features: Record<string, boolean> }).features["live"], false);
    assert.equal(await get(server.url, "/ready"), 200);
  } finally {
    holder.close();
  }
});

test("a window of duplicates that is no duration stops the start", async () => {
  await assert.rejects(
    ServerProcess.start({ flags: ["--cloudevents-dedup-window", "soon"] }),
    /cloudevents-dedup-window/,
  );
});
