import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connectTo, fillShop, rows, startServer } from "../wire/mysql/server.ts";

test("on SIGTERM a statement finishes, and the server ends", async () => {
  const { server, port } = await startServer();
  await using _ = server;
  await fillShop(server.url);
  const busy = await connectTo(port);
  const running = rows(busy, "SELECT count(*) AS n FROM range(3000000) a JOIN range(3000000) b ON a.range = b.range");
  const watcher = await connectTo(port);
  for (;;) {
    const list = await rows(watcher, "SHOW FULL PROCESSLIST");
    if (list.some((row) => String(row["Info"]).startsWith("SELECT count"))) break;
  }
  const told = new Promise<Error & { readonly errno?: number }>((resolve) => watcher.on("error", resolve));
  busy.on("error", () => {});
  server.child.kill("SIGTERM");
  assert.match((await told).message, /shutdown/i);
  assert.deepEqual(await running, [{ n: 3_000_000 }]);
  if (server.child.exitCode === null) await once(server.child, "exit");
  assert.equal(server.child.exitCode, 0);
});
