import type { Logger } from "pino";
import type { ClusterFront } from "../../edge/cluster/front.ts";
import { WireEntry } from "../../edge/cluster/wire-entry.ts";
import type { Listener } from "../../listener/listener.ts";
import type { ServerConfig } from "../config/config.ts";
import { openListener, openLiveListener } from "../listeners.ts";

/** The sockets of a node, which stay open whichever node is the owner. */
export interface Doors {
  readonly listener: Listener;
  readonly live: Listener | undefined;
  readonly postgres: WireEntry | undefined;
  readonly mysql: WireEntry | undefined;
}

export async function openDoors(
  config: ServerConfig,
  front: ClusterFront,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<Doors> {
  const { wireConnectionsMax, postgresListen, mysqlListen } = config;
  const take = (wire: "postgres" | "mysql") => (socket: Parameters<typeof front.takeWire>[1]) =>
    front.takeWire(wire, socket);
  const postgres = await WireEntry.start(
    postgresListen,
    "SERVICE_POSTGRES_LISTEN",
    wireConnectionsMax,
    take("postgres"),
  );
  opened.defer(() => postgres?.close());
  const mysql = await WireEntry.start(mysqlListen, "SERVICE_MYSQL_LISTEN", wireConnectionsMax, take("mysql"));
  opened.defer(() => mysql?.close());
  const live = await openLiveListener(config, front.handleLive, log);
  opened.defer(() => live?.close());
  const fast = config.corsOrigins.length > 0 ? undefined : front.handleFast;
  const listener = await openListener(config, front.handleMain, fast, log);
  opened.defer(() => listener.close());
  return { listener, live, postgres, mysql };
}
