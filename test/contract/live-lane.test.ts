import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, type Transport } from "@connectrpc/connect";
import { LiveService } from "../../src/gen/service/live/v1/live_pb.ts";
import { everyTransport, LiveNamespaceClient, type LiveWatch } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";

test("sessions are told the same over every protocol and encoding, whether or not they share the bytes", async () => {
  await using server = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(server, "lane");
  await live.mutate("_tables:create", { table: "t" });
  const watches: [string, LiveWatch][] = [];
  const open = (name: string, transport: Transport) => {
    const of = new LiveNamespaceClient(createClient(LiveService, transport), live.namespace);
    watches.push([name, of.watch(["_tables:list", { table: "t" }], ["_tables:count", { table: "t" }])]);
  };
  const all = everyTransport(server.live);
  for (const [name, transport] of all) open(name, transport);
  try {
    const wait = async (count: number) => {
      for (const [, watch] of watches) await watch.until((shown) => shown.get(2) === count);
    };
    await wait(0);
    for (let count = 1; count <= 4; count++) {
      // The second of each pair is one that another has been told in the same encoding already.
      if (count === 3) for (const [name, transport] of all) open(`${name}, again`, transport);
      if (count === 3) await wait(2);
      await live.mutate("_tables:insert", { table: "t", document: { text: "ä".repeat(count * 1_000) } });
      await wait(count);
    }
    const rows = await live.query("_tables:list", { table: "t" });
    const [, first] = watches[0]!;
    for (const [name, { shown, transitions, digests }] of watches) {
      assert.deepEqual(shown.get(1), rows, name);
      assert.deepEqual(digests, first.digests, name);
      assert.deepEqual(transitions.slice(-2), first.transitions.slice(-2), name);
    }
  } finally {
    for (const [, watch] of watches) await watch[Symbol.asyncDispose]();
  }
});
