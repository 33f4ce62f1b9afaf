import type { Sql } from "../../engine/sql/sql.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import type { Random } from "../../port/random.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { AuthMode } from "../auth/config.ts";
import type { WireAddress } from "../wire/address.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { WireLimits } from "../wire/limits.ts";
import type { WirePeers } from "../wire/peers.ts";
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
