// The peer of the Live engine: the same engine and the same RPC library, with handlers that append a record and read tables without a sandbox.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { openMainStore } from "../../src/composition/main-store.ts";
import { devLoopback } from "../../src/engine/auth/principal.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { LiveObject, LiveValue } from "../../src/engine/live/value.ts";
import { LiveService } from "../../src/gen/service/live/v1/live_pb.ts";
import { inlineFunctions, inlineSqlChildren, inlineThreads, testSettings } from "../../test/support/engine.ts";

const namespace = "bench";
const objects = new MemoryObjectStore();
const engine = new Engine(
  {
    store: await openMainStore(process.argv[2]!),
    objects,
    ownership: {
      isOwner: true,
      epoch: 1,
      acquire: async () => {},
      confirm: async () => {},
      [Symbol.asyncDispose]: async () => {},
    },
    clock: new NodeClock(),
    random: new NodeRandom(),
    threads: inlineThreads(objects),
    sqlChildren: inlineSqlChildren(),
    functions: inlineFunctions(),
  },
  testSettings,
);
await engine.own();
await engine.metastore.createNamespace(namespace);
await engine.streams.create({ namespace, stream: "one" }, 1, undefined);

const call = (name: string, args: LiveObject) => ({ namespace, function: name, args, principal: devLoopback });

async function read(name: string, args: LiveObject): Promise<LiveValue> {
  const { outcome } = await engine.live.query(call(name, args), undefined, []);
  if (outcome.kind === "error") throw outcome.fault;
  return outcome.value;
}

const handler = connectNodeAdapter({
  routes: (router: ConnectRouter) => {
    router.service(LiveService, {
      async mutate(request) {
        const { function: name, args = {} } = request.call!;
        if (name.startsWith("_tables:")) {
          const { outcome, tick } = await engine.live.mutate(call(name, args as LiveObject), { requestId: "" });
          const value = outcome.kind === "value" ? outcome.value : null;
          return { outcome: { case: "value", value: fromJson(ValueSchema, value as JsonValue) }, tick: BigInt(tick) };
        }
        const records = [{ value: Buffer.from(JSON.stringify(args)) }];
        await engine.streams.append({ namespace, stream: "one", partition: 0, records });
        return {};
      },
      async query(request) {
        const { ids } = request.call!.args as { ids: string[] };
        const gets = await Promise.all(ids.map((id) => read("_tables:get", { id })));
        const range = await read("_tables:list", { table: "rows", limit: 20 });
        return { outcome: { case: "value", value: fromJson(ValueSchema, [...gets, range] as JsonValue) } };
      },
    });
  },
});

const server = createServer(handler);
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));
