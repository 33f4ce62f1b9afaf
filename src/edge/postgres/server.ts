import { visibleNamespaces } from "../../engine/auth/access.ts";
import type { Sql } from "../../engine/sql/sql.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import type { Random } from "../../port/random.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { AuthMode } from "../auth/config.ts";
import type { WireAddress } from "../wire/address.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { WireLimits } from "../wire/limits.ts";
import type { WireListener } from "../wire/listener.ts";
import type { WirePeers } from "../wire/peers.ts";
import { startWire } from "../wire/start.ts";
import type { WireTls } from "../wire/tls.ts";
import { Backends } from "./backends.ts";
import { PostgresSession } from "./session.ts";

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
  /** Told the SQLSTATE of each error that a client is told. */
  readonly onError?: (code: string) => void;
  readonly limits?: Partial<WireLimits>;
  readonly peers?: WirePeers | undefined;
}

/** The version of Postgres whose catalogs and answers clients may count on. */
const postgresVersion = "15.0";

/** Undefined where the wire is off, or its default port is taken. */
export async function startPostgres(options: PostgresOptions): Promise<WireListener | undefined> {
  const { listen, authModes, limits = {}, log, bytes } = options;
  const deps = {
    ...options,
    version: `${postgresVersion} (native-engine ${options.version})`,
    backends: new Backends(options.random),
    takesPasswords: authModes.includes("apikey") || authModes.includes("oidc"),
    takesNobody: authModes.includes("off") || authModes.includes("mesh"),
    namespaces: (principal: Parameters<typeof visibleNamespaces>[0]) =>
      visibleNamespaces(principal, [...options.namespaces()], (name) => name),
    isDraining: () => listener?.isDraining ?? false,
  };
  const listener: WireListener | undefined = await startWire({
    name: "postgres",
    setting: "SERVICE_POSTGRES_LISTEN",
    listen,
    limits,
    peers: options.peers,
    log,
    bytes,
    open: (connection) => new PostgresSession(deps, connection),
  });
  return listener;
}
