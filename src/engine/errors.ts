import { StoreError } from "../port/store.ts";

/**
 * Everything that can go wrong, in one table. The engine throws an `EngineError` with a reason; each edge turns
 * the reason into its own wire form in one file (its error.ts) and nowhere else.
 */
/** The codes of the Connect and gRPC protocols, by their Connect names. */
export type RpcCode =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "out_of_range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data_loss"
  | "unauthenticated";

export interface ReasonSpec {
  /** Code on Connect, gRPC and gRPC-Web. */
  readonly rpc: RpcCode;
  /** Status on REST. */
  readonly http: number;
  /** The `error` string of a REST error body. */
  readonly rest: string;
  /** Metadata keys that an ErrorInfo with this reason carries. */
  readonly metadata: readonly string[];
}

function reason<const M extends readonly string[] = readonly []>(
  rpc: RpcCode,
  http: number,
  rest: string,
  metadata?: M,
): ReasonSpec {
  return { rpc, http, rest, metadata: metadata ?? [] };
}

export const reasons = {
  // The registry of SPEC.md: a reason is never renamed or removed within a major version.
  approval_expired: reason("failed_precondition", 409, "conflict"),
  approval_already_decided: reason("failed_precondition", 409, "conflict"),
  approval_stale_revision: reason("failed_precondition", 409, "conflict"),
  requester_cannot_approve: reason("permission_denied", 403, "permission_denied"),
  decision_proof_invalid: reason("permission_denied", 403, "permission_denied"),
  step_up_required: reason("unauthenticated", 401, "unauthenticated"),
  reason_required: reason("invalid_argument", 400, "invalid_argument"),
  invalid_decision: reason("invalid_argument", 400, "invalid_argument"),
  pairing_expired: reason("failed_precondition", 409, "conflict"),
  pairing_used: reason("failed_precondition", 409, "conflict"),
  device_revoked: reason("unauthenticated", 401, "unauthenticated"),
  push_target_unknown: reason("not_found", 404, "not_found"),
  not_implemented: reason("unimplemented", 501, "unimplemented"),
  feature_not_in_variant: reason("unimplemented", 501, "unimplemented", ["variant"]),
  invalid_argument: reason("invalid_argument", 400, "invalid_argument", ["field"]),
  not_found: reason("not_found", 404, "not_found"),
  already_exists: reason("already_exists", 409, "already_exists"),
  permission_denied: reason("permission_denied", 403, "permission_denied"),
  token_expired: reason("unauthenticated", 401, "unauthenticated", ["hint"]),
  unauthenticated: reason("unauthenticated", 401, "unauthenticated"),
  failed_precondition: reason("failed_precondition", 409, "conflict"),
  resource_exhausted: reason("resource_exhausted", 429, "resource_exhausted", ["retry_after_ms"]),
  unavailable: reason("unavailable", 503, "unavailable"),
  deadline_exceeded: reason("deadline_exceeded", 503, "unavailable"),
  aborted: reason("aborted", 409, "conflict"),
  internal: reason("internal", 500, "internal"),
  // Reasons that only the REST edge can raise.
  method_not_allowed: reason("unimplemented", 405, "invalid_argument"),
  body_too_large: reason("resource_exhausted", 413, "invalid_argument"),
  unsupported_media_type: reason("invalid_argument", 415, "unsupported_media_type"),
  offset_out_of_range: reason("out_of_range", 416, "offset_out_of_range"),
} as const satisfies Record<string, ReasonSpec>;

export type Reason = keyof typeof reasons;

export interface EngineErrorOptions {
  /** Extra members of a REST error body, for example `offset` or `id`. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** ErrorInfo metadata; never secrets. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export class EngineError extends Error {
  readonly reason: Reason;
  readonly details: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;

  constructor(reason: Reason, message: string, options: EngineErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "EngineError";
    this.reason = reason;
    this.details = options.details ?? {};
    this.metadata = options.metadata ?? {};
    this.retryAfterMs = options.retryAfterMs;
  }

  /** What is not an EngineError is a bug: it becomes `internal`, with the original as its cause for the log. */
  static from(error: unknown): EngineError {
    if (error instanceof EngineError) return error;
    // Damage is no bug: the caller is told what the operator can do about it.
    const message = error instanceof StoreError && error.kind === "damaged" ? error.message : "internal error";
    return new EngineError("internal", message, { cause: error });
  }
}

/** A write that was given up waiting for. It may still happen, so nobody may write to the memory that it was made of. */
export class OutcomeUnknown extends EngineError {
  constructor() {
    super("unavailable", "the disk does not answer; the outcome is not known yet, retry", { retryAfterMs: 1000 });
  }
}

/** Bad input. `at` is the path of the field at fault, for example `records[3].value`. */
export function invalid(at: string, message: string): EngineError {
  // A field whose name is empty is still named.
  const field = at === "" ? '""' : at;
  return new EngineError("invalid_argument", `${field}: ${message}`, { details: { field }, metadata: { field } });
}

export function notFound(message: string): EngineError {
  return new EngineError("not_found", message);
}

export function alreadyExists(message: string, id: number): EngineError {
  return new EngineError("already_exists", message, { details: { id } });
}

/** What is stored is not what was written: never served, and only the operator can help. */
export function damaged(what: string): EngineError {
  return new EngineError("internal", `${what}; restore the data from a backup`);
}

/** A concurrent or stale write: REST `conflict`, RPC `aborted`. */
export function conflict(message: string, details: Readonly<Record<string, unknown>> = {}): EngineError {
  return new EngineError("aborted", message, { details });
}

export function unavailable(message: string, cause?: unknown): EngineError {
  return new EngineError("unavailable", message, { retryAfterMs: 1000, cause });
}
