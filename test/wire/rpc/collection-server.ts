import pino from "pino";
import { createRequestIds } from "../../../src/edge/front/request-id.ts";
import { Metrics } from "../../../src/edge/rest/metrics/metrics.ts";
import { createRest } from "../../../src/edge/rest/server.ts";
import { collectionServices } from "../../../src/edge/rpc/collection.ts";
import { ByteBudget } from "../../../src/edge/wire/byte-budget.ts";
import { devLoopback } from "../../../src/engine/auth/principal.ts";
import type { CollectionSettings } from "../../../src/engine/collection/settings.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { limits } from "../../../src/engine/limits.ts";
import { Listener } from "../../../src/listener/listener.ts";
import { startMemoryEngine } from "../../support/memory-engine.ts";
import { startServer, type TestServer } from "./server.ts";

export interface CollectionServer extends AsyncDisposable {
  readonly engine: Engine;
  readonly rpc: TestServer;
  /** Where the REST edge of the same engine answers. */
  readonly restUrl: string;
}

/** One engine in memory behind both edges, with the namespace `n`. */
export async function startCollections(settings: Partial<CollectionSettings> = {}): Promise<CollectionServer> {
  const engine = await startMemoryEngine(settings);
  await engine.metastore.createNamespace("n");
  const rpc = await startServer({
    rpc: {
      services: collectionServices(engine),
      engine: { namespaces: { create: (name) => engine.metastore.createNamespace(name) } },
    },
  });
  const log = pino({ level: "silent" });
  const authenticator = {
    authenticate: () => devLoopback,
    screen: () => undefined,
    prepare: () => {},
    close: () => {},
  };
  const rest = await createRest({
    engine,
    metrics: new Metrics(),
    log,
    version: "0.1.0",
    authenticator,
    requestId: createRequestIds(),
    bytes: new ByteBudget(limits.heldBytesMax),
  });
  const listener = await Listener.start({
    host: "127.0.0.1",
    port: 0,
    handler: rest.handle,
    fast: rest.fast,
    log,
  });
  return {
    engine,
    rpc,
    restUrl: listener.address.url,
    async [Symbol.asyncDispose]() {
      await rpc[Symbol.asyncDispose]();
      await listener.close();
      await engine.stop();
    },
  };
}
