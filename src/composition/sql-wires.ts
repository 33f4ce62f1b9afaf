import type { Logger } from "pino";
import type { Authenticator } from "../edge/auth/authenticator.ts";
import { startMysql } from "../edge/mysql/server.ts";
import { startPostgres } from "../edge/postgres/server.ts";
import type { Metrics } from "../edge/rest/metrics/metrics.ts";
import type { ByteBudget } from "../edge/wire/byte-budget.ts";
import type { WireListener } from "../edge/wire/listener.ts";
import { MeasuredSql } from "../edge/wire/measured-sql.ts";
import type { WirePeers } from "../edge/wire/peers.ts";
import { WireTls } from "../edge/wire/tls.ts";
import type { Engine } from "../engine/engine.ts";
import type { Instance } from "../engine/instance/instance.ts";
import type { CertificatePair } from "../listener/certificate.ts";
import type { Clock } from "../port/clock.ts";
import type { Random } from "../port/random.ts";
import type { ServerConfig } from "./config/config.ts";
import { version } from "./version.ts";

export interface SqlWiresGround {
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly instance: Instance;
  readonly authenticator: Authenticator;
  readonly admitRequest: (namespace: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly bytes: ByteBudget;
  readonly keptBytes: ByteBudget;
  readonly opened: AsyncDisposableStack;
  /** The listener's, once it listens. */
  readonly certificate: () => CertificatePair | undefined;
  readonly peers: WirePeers | undefined;
}

/** The wires of Postgres and MySQL; one that is off, or whose default port is taken, is undefined. */
export async function startSqlWires(
  config: ServerConfig,
  log: Logger,
  ground: SqlWiresGround,
): Promise<{ readonly postgres: WireListener | undefined; readonly mysql: WireListener | undefined }> {
  const { engine, metrics, instance, authenticator, admitRequest, certificate, peers } = ground;
  const { clock, random, bytes, keptBytes, opened } = ground;
  const postgres = await startPostgres({
    listen: config.postgresListen,
    sql: new MeasuredSql(engine.sql, admitRequest, metrics.wires.statementsOf("postgres")),
    onError: metrics.wires.errorsOf("postgres"),
    authenticator,
    authModes: config.auth.modes,
    isNamespace: (name) => engine.metastore.findNamespace(name) !== undefined,
    namespaces: () => [...engine.metastore.namespaces()].map(({ name }) => name),
    tls: new WireTls(certificate),
    random,
    bytes,
    keptBytes,
    version,
    log,
    limits: { connectionsMax: config.wireConnectionsMax },
    peers,
  });
  opened.defer(() => postgres?.close());
  const mysql = await startMysql({
    listen: config.mysqlListen,
    sql: new MeasuredSql(engine.sql, admitRequest, metrics.wires.statementsOf("mysql")),
    onError: metrics.wires.errorsOf("mysql"),
    namespaces: {
      list: () => [...engine.metastore.namespaces()],
      has: (name) => engine.metastore.findNamespace(name) !== undefined,
    },
    authenticator,
    isOpen: config.auth.modes.includes("off"),
    certificate,
    clock,
    bytes,
    keptBytes,
    log,
    version,
    instanceId: instance.id,
    limits: { connectionsMax: config.wireConnectionsMax },
    peers,
  });
  opened.defer(() => mysql?.close());
  return { postgres, mysql };
}
