import { MemoryStore } from "../../../src/adapter/memory/store.ts";
import { NodeClock } from "../../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../../src/adapter/node/random.ts";
import { tokenExpired, unauthenticated } from "../../../src/edge/auth/refusal.ts";
import { Cors } from "../../../src/edge/front/cors.ts";
import { createRequestIds } from "../../../src/edge/front/request-id.ts";
import { HealthState } from "../../../src/edge/rpc/health-state.ts";
import type { RpcOptions } from "../../../src/edge/rpc/options.ts";
import { createRpcHandler } from "../../../src/edge/rpc/server.ts";
import { ByteBudget } from "../../../src/edge/wire/byte-budget.ts";
import { devLoopback, type Principal } from "../../../src/engine/auth/principal.ts";
import { alreadyExists } from "../../../src/engine/errors.ts";
import { parseName } from "../../../src/engine/ids.ts";
import { Instance, type InstanceDeps } from "../../../src/engine/instance/instance.ts";
import { defaultInstanceSettings } from "../../../src/engine/instance/settings.ts";
import { limits } from "../../../src/engine/limits.ts";
import { Listener } from "../../../src/listener/listener.ts";

/** A bearer token is the JSON of the principal. */
export const bearerJson: RpcOptions["authenticator"] = {
  screen: () => undefined,
  async authenticate({ authorization }) {
    if (authorization === undefined) throw unauthenticated("no credential");
    const token = authorization.replace(/^Bearer /, "");
    if (token === "expired") throw tokenExpired();
    return JSON.parse(token) as Principal;
  },
};

export interface ServerOptions {
  readonly rpc?: Partial<RpcOptions>;
  readonly origins?: readonly string[];
  readonly instance?: Partial<InstanceDeps>;
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly health: HealthState;
  readonly instance: Instance;
  readonly store: MemoryStore;
  /** What was logged as an error. */
  readonly logged: object[];
}

function namespacesInMemory(): NonNullable<RpcOptions["engine"]>["namespaces"] {
  const ids = new Map<string, number>();
  return {
    async create(name) {
      parseName("name", name);
      const known = ids.get(name);
      if (known !== undefined) throw alreadyExists(`namespace ${name} exists`, known);
      ids.set(name, ids.size + 1);
      return { id: ids.size };
    },
  };
}

/** The RPC edge alone on a listener. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const health = new HealthState();
  const logged: object[] = [];
  const store = new MemoryStore();
  const instance = await Instance.open({
    store,
    clock: new NodeClock(),
    random: new NodeRandom(),
    settings: defaultInstanceSettings,
    version: "0.1.0",
    authModes: ["off"],
    features: { streams: true },
    house: options.rpc?.houseUrl !== undefined,
    ...options.instance,
  });
  const handler = createRpcHandler({
    instance,
    engine: { namespaces: namespacesInMemory() },
    authenticator: { screen: () => undefined, authenticate: () => devLoopback },
    health,
    development: true,
    log: { error: (fields) => logged.push(fields), debug: () => undefined },
    requestId: createRequestIds(),
    admitRequest: () => undefined,
    cors: new Cors(options.origins ?? []),
    bytes: new ByteBudget(limits.heldBytesMax),
    ...options.rpc,
  });
  health.setReady(true);

  const listener = await Listener.start({
    host: "127.0.0.1",
    port: 0,
    handler: (request, response) => handler.handle(request, response),
    log: { error: () => undefined, warn: () => undefined, info: () => undefined },
  });
  return {
    url: listener.address.url,
    port: listener.address.port,
    health,
    instance,
    store,
    logged,
    async [Symbol.asyncDispose]() {
      handler.close();
      await listener.close();
    },
  };
}
