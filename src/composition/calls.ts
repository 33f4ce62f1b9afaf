import { flightService } from "../edge/flight/server.ts";
import { peerOf, principalOf } from "../edge/rpc/call.ts";
import { collectionServices } from "../edge/rpc/collection.ts";
import { liveService } from "../edge/rpc/live.ts";
import type { RpcOptions } from "../edge/rpc/options.ts";
import { createRpcHandler, type RpcHandler } from "../edge/rpc/server.ts";
import type { ByteBudget } from "../edge/wire/byte-budget.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sql } from "../engine/sql/sql.ts";
import type { Clock } from "../port/clock.ts";
import type { Random } from "../port/random.ts";

/** What the calls of every port have in common. */
type PortDeps = Omit<RpcOptions, "engine" | "port" | "services" | "houseUrl"> & { readonly engine: Engine };

export interface CallsDeps extends PortDeps {
  /** For Flight SQL. */
  readonly sql: Sql;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly keptBytes: ByteBudget;
  readonly houseUrl: string | undefined;
}

/** The calls of the main port; loaded with the first of them. */
export function createCalls({
  engine,
  sql,
  version,
  clock,
  random,
  keptBytes,
  houseUrl,
  ...deps
}: CallsDeps): RpcHandler {
  const flight = flightService({
    sql,
    namespaces: () => Array.from(engine.metastore.namespaces(), ({ name }) => name),
    version,
    clock,
    random,
    keptBytes,
    authenticate: (request) => deps.authenticator.authenticate(request),
    principalOf,
    peerOf,
  });
  return createRpcHandler({
    ...deps,
    engine: { namespaces: { create: (name) => engine.metastore.createNamespace(name) } },
    services: [...collectionServices(engine), flight],
    ...(houseUrl === undefined ? {} : { houseUrl }),
  });
}

/** The calls of the Live engine's port. */
export function createLiveCalls({
  engine,
  heartbeatMs,
  ...deps
}: PortDeps & { readonly heartbeatMs: number }): RpcHandler {
  return createRpcHandler({ ...deps, port: "live", services: [liveService(engine.live, heartbeatMs)] });
}
