import type { Sql } from "../../engine/sql/sql.ts";
import type { CertificatePair } from "../../listener/certificate.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import type { Clock } from "../../port/clock.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { WireAddress } from "../wire/address.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { WireLimits } from "../wire/limits.ts";
import type { WirePeers } from "../wire/peers.ts";
import type { Namespaces } from "./catalog.ts";

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
  /** Called with the number of each error that is sent to a client. */
  readonly onError?: (errno: number) => void;
  /** Of this server; clients see a version of MySQL that they know, followed by this. */
  readonly version: string;
  readonly instanceId: string;
  readonly limits?: Partial<WireLimits>;
  readonly peers?: WirePeers | undefined;
}
