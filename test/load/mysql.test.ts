import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ask } from "../support/http.ts";
import type { ServerProcess } from "../support/process.ts";
import { signedIn } from "../wire/mysql/raw-client.ts";
import { atWork, connectTo, endless, fillShop, rows, startServer, until } from "../wire/mysql/server.ts";

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

  test("are stopped when their client closes its half or vanishes", async () => {
    for (const leave of ["end", "destroy"] as const) {
      const before = await cancelled();
      const { client, id } = await signedIn(port);
      client.send(0, `\x03${endless}`);
      await until(() => atWork(port, id));
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
