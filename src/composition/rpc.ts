import type { Logger } from "pino";
import type { Cors } from "../edge/front/cors.ts";
import type { RequestIds } from "../edge/front/request-id.ts";
import type { Metrics } from "../edge/rest/metrics/metrics.ts";
import type { HealthState } from "../edge/rpc/health-state.ts";
import { LateRpcHandler } from "../edge/rpc/late-handler.ts";
import type { ByteBudget } from "../edge/wire/byte-budget.ts";
import { MeasuredSql } from "../edge/wire/measured-sql.ts";
import type { AuditEvent } from "../engine/auth/audit.ts";
import type { Engine } from "../engine/engine.ts";
import type { Clock } from "../port/clock.ts";
import { nextTurn } from "../port/next-turn.ts";
import type { Random } from "../port/random.ts";
import type { ServerConfig } from "./config/config.ts";
import type { Identity } from "./identity.ts";
import { version } from "./version.ts";

export interface RpcGround {
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly identity: Identity;
  readonly health: HealthState;
  readonly liveHealth: HealthState;
  readonly admitRequest: (namespace: string) => void;
  readonly requestId: RequestIds;
  readonly cors: Cors;
  readonly clock: Clock;
  readonly random: Random;
  readonly bytes: ByteBudget;
  readonly keptBytes: ByteBudget;
}

/** The calls of the main port and of the Live engine's; their code is loaded with the first of them. */
export function createRpc(
  config: ServerConfig,
  log: Logger,
  ground: RpcGround,
): { readonly rpc: LateRpcHandler; readonly liveRpc: LateRpcHandler } {
  const { engine, metrics, health, liveHealth, requestId, admitRequest, cors, bytes, ...rest } = ground;
  const { instance, authenticator, audit } = rest.identity;
  const { clock, random, keptBytes } = rest;
  const { publicUrl, houseUrl, liveHeartbeatMs: heartbeatMs } = config;
  const everyPort = {
    instance,
    authenticator,
    log,
    requestId,
    admitRequest,
    cors,
    bytes,
    development: config.mode === "development",
    onCall: (method: string, code: string, ms: number) => metrics.onCall(method, code, ms),
    audit: (event: AuditEvent) => audit.record(event),
    ...(publicUrl === undefined ? {} : { publicUrl }),
  };
  const onUnloaded = (err: unknown) => log.error({ err }, "the RPC edge could not be loaded");
  const rpc = new LateRpcHandler(async () => {
    const { createCalls } = await loadCalls();
    const sql = new MeasuredSql(engine.sql, admitRequest, metrics.wires.statementsOf("flight"));
    return createCalls({ ...everyPort, engine, sql, health, version, clock, random, keptBytes, houseUrl });
  }, onUnloaded);
  const liveRpc = new LateRpcHandler(async () => {
    const { createLiveCalls } = await loadCalls();
    return createLiveCalls({ ...everyPort, engine, health: liveHealth, heartbeatMs });
  }, onUnloaded);
  return { rpc, liveRpc };
}

/** In pieces of some ten milliseconds: other requests come between them. */
async function loadCalls() {
  for (const load of [
    () => import("@bufbuild/protobuf"),
    () => import("@connectrpc/connect"),
    () => import("@connectrpc/connect-node"),
    () => import("../edge/rpc/unary-lane.ts"),
    () => import("../edge/flight/server.ts"),
    () => import("../edge/rpc/collection.ts"),
  ]) {
    await load();
    await nextTurn();
  }
  return await import("./calls.ts");
}
