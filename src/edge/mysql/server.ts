import type { Sql } from "../../engine/sql/sql.ts";
import type { CertificatePair } from "../../listener/certificate.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import type { Clock } from "../../port/clock.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { WireAddress } from "../wire/address.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { WireLimits } from "../wire/limits.ts";
import type { WireListener } from "../wire/listener.ts";
import type { WirePeers } from "../wire/peers.ts";
import { startWire } from "../wire/start.ts";
import { WireTls } from "../wire/tls.ts";
import { PasswordKey } from "./auth.ts";
import { Catalog, type Namespaces } from "./catalog.ts";
import { mysqlLimits } from "./limits.ts";
import { ProcessList } from "./process-list.ts";
import { Session, type SessionDeps } from "./session.ts";

export interface MysqlOptions {
  readonly listen: WireAddress;
  readonly sql: Sql;
  readonly namespaces: Namespaces;
  readonly authenticator: Authenticator;
  /** Authentication is off: any user and password will do. */
  readonly isOpen: boolean;
  readonly certificate: () => CertificatePair | undefined;
  readonly clock: Clock;
  readonly bytes: ByteBudget;
  /** Of prepared statements and their long data. */
  readonly keptBytes: ByteBudget;
  readonly log: ListenerLog;
  /** Told the number of each error that a client is told. */
  readonly onError?: (errno: number) => void;
  /** Of this server; clients are told a version of MySQL that they know, with this behind it. */
  readonly version: string;
  readonly instanceId: string;
  readonly limits?: Partial<WireLimits>;
  readonly peers?: WirePeers | undefined;
}

/** The version whose ways are spoken; drivers choose by it what to send. */
const spokenVersion = "8.0.40";

const wireLimits: Partial<WireLimits> = {
  connectionsMax: mysqlLimits.connectionsMax,
  handshakeTimeoutMs: mysqlLimits.handshakeMsMax,
  idleTimeoutMs: mysqlLimits.idleMsMax,
  writeStallTimeoutMs: mysqlLimits.writeStallMsMax,
};

/** MySQL's protocol over the engine's SQL; undefined where it is off. */
export async function startMysql(options: MysqlOptions): Promise<WireListener | undefined> {
  const { sql, namespaces, authenticator, clock, log } = options;
  const tls = new WireTls(options.certificate);
  let listener: WireListener | undefined;
  const deps: SessionDeps = {
    sql,
    catalog: new Catalog(sql, namespaces),
    processes: new ProcessList(clock),
    authenticator,
    passwordKey: options.isOpen ? undefined : PasswordKey.create(),
    tls,
    keptBytes: options.keptBytes,
    clock,
    log,
    facts: () => ({
      version: `${spokenVersion}-native-engine-${options.version}`,
      port: listener?.address.port ?? 0,
      tls: tls.context !== undefined,
      instanceId: options.instanceId,
    }),
    isDraining: () => listener?.isDraining ?? false,
    ...(options.onError === undefined ? {} : { onError: options.onError }),
  };
  listener = await startWire({
    name: "MySQL",
    setting: "SERVICE_MYSQL_LISTEN",
    listen: options.listen,
    limits: { ...wireLimits, ...options.limits },
    peers: options.peers,
    log,
    bytes: options.bytes,
    open: (connection) => new Session(connection, deps),
  });
  return listener;
}
