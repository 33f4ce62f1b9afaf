import { visibleNamespaces } from "../../engine/auth/access.ts";
import type { WireConnection } from "../wire/connection.ts";
import type { WireSession } from "../wire/listener.ts";
import { Backends } from "./backends.ts";
import type { PostgresOptions } from "./options.ts";
import { PostgresSession } from "./session.ts";

/** The version of Postgres whose catalogs and answers clients may count on. */
const postgresVersion = "15.0";

/** What the sessions of one server have in common. */
export function postgresSessions(
  options: PostgresOptions,
  isDraining: () => boolean,
): (connection: WireConnection) => WireSession {
  const { authModes } = options;
  const deps = {
    ...options,
    version: `${postgresVersion} (native-engine ${options.version})`,
    backends: new Backends(options.random),
    takesPasswords: authModes.includes("apikey") || authModes.includes("oidc"),
    takesNobody: authModes.includes("off") || authModes.includes("mesh"),
    namespaces: (principal: Parameters<typeof visibleNamespaces>[0]) =>
      visibleNamespaces(principal, [...options.namespaces()], (name) => name),
    isDraining,
  };
  return (connection) => new PostgresSession(deps, connection);
}
