import type { ContextValues } from "@connectrpc/connect";
import type { Principal } from "../../engine/auth/principal.ts";
import type { Sql } from "../../engine/sql/sql.ts";
import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import type { AuthRequest } from "../auth/authenticator.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { PreparedStatements } from "./prepared.ts";
import type { RunningStatements } from "./statement.ts";

export type Peer = Partial<Pick<AuthRequest, "remoteAddress" | "remotePort">>;

export interface FlightDeps {
  readonly sql: Sql;
  /** The names of all namespaces. */
  readonly namespaces: () => Iterable<string>;
  /** Of the server, for clients that ask. */
  readonly version: string;
  readonly random: Random;
  readonly prepared: PreparedStatements;
  readonly running: RunningStatements;
  /** For handshakes, which bring their credential in the message. */
  readonly authenticate: (request: AuthRequest) => Principal | Promise<Principal>;
  /** Who makes a call, and from where. */
  readonly principalOf: (values: ContextValues) => Principal | undefined;
  readonly peerOf: (values: ContextValues) => Peer;
}

export type FlightOptions = Omit<FlightDeps, "prepared" | "running"> & {
  readonly clock: Clock;
  /** Of prepared statements. */
  readonly keptBytes: ByteBudget;
};
