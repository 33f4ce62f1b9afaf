import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { LiveService } from "../../src/gen/service/live/v1/live_pb.ts";
import { LiveNamespaceClient, type LiveWatch } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";

const encodings = { plain: undefined, gzip: compressionGzip, br: compressionBrotli };

function transports(baseUrl: string): [string, Transport][] {
  return Object.entries(encodings).flatMap(([name, compression]) => {
    const options = { baseUrl, httpVersion: "2" as const, acceptCompression: compression ? [compression] : [] };
    return [false, true].flatMap((useBinaryFormat): [string, Transport][] => {
      const how = `${name}, ${useBinaryFormat ? "protobuf" : "JSON"}`;
      return [
        [`Connect, ${how}`, createConnectTransport({ ...options, useBinaryFormat })],
        [`Connect over HTTP/1.1, ${how}`, createConnectTransport({ ...options, useBinaryFormat, httpVersion: "1.1" })],
        [`gRPC, ${how}`, createGrpcTransport({ ...options, useBinaryFormat })],
        [`gRPC-Web, ${how}`, createGrpcWebTransport({ ...options, useBinaryFormat })],
      ];
    });
  });
}

test("sessions are told the same over every protocol and encoding, whether or not they share the bytes", async () => {
  await using server = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(server, "lane");
  await live.mutate("_tables:create", { table: "t" });
  const watches: [string, LiveWatch][] = [];
  const open = (name: string, transport: Transport) => {
    const of = new LiveNamespaceClient(createClient(LiveService, transport), live.namespace);
    watches.push([name, of.watch(["_tables:list", { table: "t" }], ["_tables:count", { table: "t" }])]);
  };
  const all = transports(server.live);
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

test("a session ends with the caller's deadline, an unknown namespace or a server that drains, told like any call", async () => {
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
  const all = transports(server.live);
  for (const [name, transport] of all) {
    assert.equal((await end("nowhere", 60_000, transport)).code, Code.NotFound, name);
    assert.equal((await end(live.namespace, 300, transport)).code, Code.DeadlineExceeded, name);
    await new Promise<void>((resolve) => ends.push(end(live.namespace, 60_000, transport, resolve)));
  }
  await server.stop();
  for (const [i, [name]] of all.entries()) assert.equal((await ends[i]!).code, Code.Unavailable, name);
});
