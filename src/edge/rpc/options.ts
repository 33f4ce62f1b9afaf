import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import type { AuditEvent } from "../../engine/auth/audit.ts";
import type { Port } from "../../engine/instance/catalogue.ts";
import type { Instance } from "../../engine/instance/instance.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Cors } from "../front/cors.ts";
import type { RequestIds } from "../front/request-id.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { AdmitRequest, CallLog } from "./call.ts";
import type { HealthState } from "./health-state.ts";
import type { Namespaces } from "./instance.ts";
import type { UnaryLane } from "./unary-lane.ts";

/** A service and what answers its calls; a method left out answers `not_implemented`. */
export interface ServedService {
  readonly descriptor: DescService;
  addTo(router: ConnectRouter): void;
  /** Ways past the library, by path. */
  readonly lanes?: ReadonlyMap<string, UnaryLane>;
  /** The Authorization header as this edge knows it, of a service whose clients sign in in another way too. */
  authorization?(header: string | undefined): string | undefined;
  /** What is put around its handlers, for a service with a way of its own to write its replies. */
  around?(handler: UniversalHandler): UniversalHandler;
}

export interface RpcOptions {
  readonly instance: Instance;
  /** Without it there is no NamespaceService. */
  readonly engine?: { readonly namespaces: Namespaces };
  /** The native one, unless said. */
  readonly port?: Port;
  readonly authenticator: Pick<Authenticator, "authenticate" | "screen">;
  readonly health: HealthState;
  readonly log: CallLog;
  readonly requestId: RequestIds;
  /** Throws where a namespace has been asked as often as it may be. */
  readonly admitRequest: AdmitRequest;
  /** Called after every call: the method where it is known, the Connect code or `ok`, the time. */
  readonly onCall?: (method: string, code: string, ms: number) => void;
  /** Called for every administrative call of an authenticated caller. */
  readonly audit?: (event: AuditEvent) => void;
  /** Reflection is mounted in development only. */
  readonly development: boolean;
  readonly cors: Cors;
  /** What all edges hold of requests. */
  readonly bytes: ByteBudget;
  readonly houseUrl?: string;
  readonly publicUrl?: string;
  /** Services beside those that this edge brings. */
  readonly services?: readonly ServedService[];
}
