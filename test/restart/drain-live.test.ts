import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { LiveService } from "../../src/gen/service/live/v1/live_pb.ts";
import { everyTransport, LiveNamespaceClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { infoOf } from "../wire/rpc/clients.ts";

test("a drain ends sessions with unavailable and the process exits with 0", { timeout: 60_000 }, async () => {
  await using server = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(server, "n");
  await live.mutate("_tables:create", { table: "t" });
  await using watch = live.watch(["_tables:count", { table: "t" }]);
  await watch.until((shown) => shown.get(1) === 0);
  const ended = watch.next().catch((thrown: unknown) => infoOf(ConnectError.from(thrown)).reason);
  assert.equal(await server.stop(), 0);
  assert.equal(await ended, "unavailable");
});

test("a session ends with the caller's deadline, an unknown namespace or a server that drains, told like any other call", async () => {
  await using server = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(server, "lane");
  const ends: Promise<ConnectError>[] = [];
  const end = async (namespace: string, timeoutMs: number, transport: Transport, opened = () => {}) => {
    const client = createClient(LiveService, transport);
    try {
      for await (const { event } of client.watch({ namespace }, { timeoutMs })) {
        if (event.case === "opened") opened();
      }
      return assert.fail("ended without an error");
    } catch (error) {
      return ConnectError.from(error);
    }
  };
  const all = everyTransport(server.live);
  for (const [name, transport] of all) {
    assert.equal((await end("nowhere", 60_000, transport)).code, Code.NotFound, name);
    assert.equal((await end(live.namespace, 300, transport)).code, Code.DeadlineExceeded, name);
    await new Promise<void>((resolve) => ends.push(end(live.namespace, 60_000, transport, resolve)));
  }
  await server.stop();
  for (const [i, [name]] of all.entries()) assert.equal((await ends[i]!).code, Code.Unavailable, name);
});
