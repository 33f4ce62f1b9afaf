import type { WireConnection } from "../wire/connection.ts";
import type { WireListener, WireSession } from "../wire/listener.ts";
import { WireTls } from "../wire/tls.ts";
import { PasswordKey } from "./auth.ts";
import { Catalog } from "./catalog.ts";
import type { MysqlOptions } from "./options.ts";
import { ProcessList } from "./process-list.ts";
import { Session, type SessionDeps } from "./session.ts";

/** The version whose ways are spoken; drivers choose by it what to send. */
const spokenVersion = "8.0.40";

/** What the sessions of one server have in common. */
export function mysqlSessions(
  options: MysqlOptions,
  listener: () => WireListener | undefined,
): (connection: WireConnection) => WireSession {
  const { sql, namespaces, authenticator, clock, log, keptBytes } = options;
  const tls = new WireTls(options.certificate);
  const deps: SessionDeps = {
    sql,
    catalog: new Catalog(sql, namespaces),
    processes: new ProcessList(clock),
    authenticator,
    passwordKey: options.isOpen ? undefined : PasswordKey.create(),
    tls,
    keptBytes,
    clock,
    log,
    facts: () => ({
      version: `${spokenVersion}-native-engine-${options.version}`,
      port: listener()?.address.port ?? 0,
      tls: tls.context !== undefined,
      instanceId: options.instanceId,
    }),
    isDraining: () => listener()?.isDraining ?? false,
    ...(options.onError === undefined ? {} : { onError: options.onError }),
  };
  return (connection) => new Session(connection, deps);
}
