import { openLate } from "../wire/late-session.ts";
import type { WireLimits } from "../wire/limits.ts";
import type { WireListener } from "../wire/listener.ts";
import { startWire } from "../wire/start.ts";
import { mysqlLimits } from "./limits.ts";
import type { MysqlOptions } from "./options.ts";

const wireLimits: Partial<WireLimits> = {
  connectionsMax: mysqlLimits.connectionsMax,
  handshakeTimeoutMs: mysqlLimits.handshakeMsMax,
  idleTimeoutMs: mysqlLimits.idleMsMax,
  writeStallTimeoutMs: mysqlLimits.writeStallMsMax,
};

/** MySQL's protocol over the engine's SQL; undefined where it is off. */
export async function startMysql(options: MysqlOptions): Promise<WireListener | undefined> {
  const { listen, peers, log, bytes } = options;
  const listener: WireListener | undefined = await startWire({
    name: "MySQL",
    setting: "SERVICE_MYSQL_LISTEN",
    listen,
    limits: { ...wireLimits, ...options.limits },
    peers,
    log,
    bytes,
    open: openLate(async () => (await import("./sessions.ts")).mysqlSessions(options, () => listener)),
  });
  return listener;
}
