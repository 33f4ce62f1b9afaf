import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ask } from "../support/http.ts";
import type { ServerProcess } from "../support/process.ts";
import { signedIn } from "../wire/mysql/raw-client.ts";
import { connectTo, fillShop, rows, startServer, until } from "../wire/mysql/server.ts";

const endless = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range + b.range = 3";

describe("statements that are under way", () => {
  let server: ServerProcess;
  let port: number;

  before(async () => {
    ({ server, port } = await startServer());
    await fillShop(server.url);
  });

  after(() => server?.[Symbol.asyncDispose]());

  async function cancelled(): Promise<number> {
    const { text } = await ask(`${server.url}/metrics`);
    return Number(/^service_sql_statements_total\{outcome="cancelled"\} (\d+)/m.exec(text)?.[1] ?? 0);
  }

  /** Whether a session has been at its statement for a second. */
  async function atWork(id: number): Promise<boolean> {
    const watcher = await connectTo(port);
    const list = await rows(watcher, "SHOW FULL PROCESSLIST");
    await watcher.end();
    return list.some((row) => row["Id"] === id && row["Info"] === endless && Number(row["Time"]) >= 1);
  }

  test("are stopped when their client closes its half or vanishes", async () => {
    for (const leave of ["end", "destroy"] as const) {
      const before = await cancelled();
      const { client, id } = await signedIn(port);
      client.send(0, `\x03${endless}`);
      await until(() => atWork(id));
      client.socket[leave]();
      await until(async () => (await cancelled()) === before + 1);
      client.socket.destroy();
    }
  });

  test("a slow reader is given no more than it takes, and others go on", async () => {
    const { client: slow } = await signedIn(port);
    slow.socket.removeAllListeners("data");
    slow.socket.pause();
    slow.send(0, "\x03SELECT repeat('x', 1000) AS x, range AS i FROM range(100000)");
    const other = await connectTo(port);
    for (let i = 0; i < 20; i++) assert.equal((await rows(other, "SELECT _id FROM docs")).length, 3);
    let bytes = 0;
    slow.socket.on("data", (chunk) => {
      bytes += chunk.length;
    });
    slow.socket.resume();
    await until(async () => bytes > 100_000 * 1000);
    slow.socket.destroy();
    await other.end();
  });
});
