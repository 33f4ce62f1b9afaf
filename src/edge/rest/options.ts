import type { FastifyBaseLogger } from "fastify";
import type { AuditLog } from "../../engine/auth/audit.ts";
import type { ApiKeys } from "../../engine/auth/keys.ts";
import type { Backups } from "../../engine/backup/backups.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { RequestIds } from "../front/request-id.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { ClusterControl } from "./instance/cluster.ts";
import type { Metrics } from "./metrics/metrics.ts";

export interface RestOptions {
  readonly engine: Engine;
  /** Without it there is no route for backups. */
  readonly backups?: Backups;
  readonly metrics: Metrics;
  readonly log: FastifyBaseLogger;
  readonly version: string;
  readonly authenticator: Authenticator;
  /** Keys to be managed, and the log of who did what. */
  readonly instance?: { readonly keys: ApiKeys; readonly audit: AuditLog };
  /** Of a server that is the owner of a cluster. */
  readonly cluster?: ClusterControl;
  readonly requestId: RequestIds;
  /** What all edges hold of requests. */
  readonly bytes: ByteBudget;
}
