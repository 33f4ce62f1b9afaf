import type { Sql } from "../../engine/sql/sql.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import type { Random } from "../../port/random.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { AuthMode } from "../auth/config.ts";
import type { WireAddress } from "../wire/address.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import { openLate } from "../wire/late-session.ts";
import type { WireLimits } from "../wire/limits.ts";
import type { WireListener } from "../wire/listener.ts";
import type { WirePeers } from "../wire/peers.ts";
import { startWire } from "../wire/start.ts";
import type { WireTls } from "../wire/tls.ts";

export interface PostgresOptions {
  readonly listen: WireAddress;
  readonly sql: Sql;
  readonly authenticator: Authenticator;
  readonly authModes: readonly AuthMode[];
  readonly isNamespace: (name: string) => boolean;
  readonly namespaces: () => Iterable<string>;
  readonly tls: WireTls;
  readonly random: Random;
  readonly bytes: ByteBudget;
  /** Of prepared statements and cursors. */
  readonly keptBytes: ByteBudget;
  /** Of the product. */
  readonly version: string;
  readonly log: ListenerLog;
  /** Called with the SQLSTATE of each error that is sent to a client. */
  readonly onError?: (code: string) => void;
  readonly limits?: Partial<WireLimits>;
  readonly peers?: WirePeers | undefined;
}

/** Undefined where the wire is off, or its default port is taken. */
export async function startPostgres(options: PostgresOptions): Promise<WireListener | undefined> {
  const { listen, limits = {}, peers, log, bytes } = options;
  const isDraining = () => listener?.isDraining ?? false;
  const listener: WireListener | undefined = await startWire({
    name: "postgres",
    setting: "SERVICE_POSTGRES_LISTEN",
    listen,
    limits,
    peers,
    log,
    bytes,
    open: openLate(async () => (await import("./sessions.ts")).postgresSessions(options, isDraining)),
  });
  return listener;
}
