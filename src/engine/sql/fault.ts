import { EngineError, type Reason } from "../errors.ts";

export interface SqlFault {
  readonly kind: SqlFaultKind;
  /** Where in the query, in characters from 0. */
  readonly position?: number;
}

export type SqlFaultKind =
  | "syntax"
  | "read_only"
  | "unsupported"
  | "unknown_table"
  | "unknown_column"
  | "unknown_function"
  | "unknown_namespace"
  | "ambiguous"
  | "type"
  | "grouping"
  | "parameter"
  | "division_by_zero"
  | "out_of_range"
  | "invalid_value"
  | "duplicate_name"
  | "forbidden"
  | "timeout"
  | "cancelled"
  | "memory"
  | "lost"
  | "too_many_rows"
  | "busy"
  | "internal";

/** Reasons of the faults that are not the statement's own. */
const reasonOf: Partial<Record<SqlFaultKind, Reason>> = {
  unknown_namespace: "not_found",
  timeout: "deadline_exceeded",
  cancelled: "aborted",
  memory: "resource_exhausted",
  lost: "unavailable",
  busy: "resource_exhausted",
  internal: "internal",
};

export interface FaultPlace {
  /** The field at fault; `query` where it is not said. */
  readonly field?: string;
  readonly position?: number | undefined;
  readonly cause?: unknown;
}

/** Characters of a message: DuckDB repeats words of the statement, however long they are. */
const messageLengthMax = 2_000;

/** A statement that can't be run, with the fault for the wires. */
export function sqlFault(kind: SqlFaultKind, text: string, place: FaultPlace = {}): EngineError {
  const { field = "query", position, cause } = place;
  const message = text.length > messageLengthMax ? `${text.slice(0, messageLengthMax).toWellFormed()}…` : text;
  const sql: SqlFault = { kind, ...(position === undefined ? {} : { position }) };
  const reason = reasonOf[kind] ?? "invalid_argument";
  const atFault = reason === "invalid_argument";
  return new EngineError(reason, atFault ? `${field}: ${message}` : message, {
    details: { ...(atFault ? { field } : {}), sql },
    ...(atFault ? { metadata: { field } } : {}),
    ...(reason === "unavailable" ? { retryAfterMs: 1000 } : {}),
    ...(reason === "resource_exhausted" ? { retryAfterMs: 1000, metadata: { retry_after_ms: "1000" } } : {}),
    cause,
  });
}

export function faultOf(error: unknown): SqlFault | undefined {
  if (!(error instanceof EngineError)) return undefined;
  return error.details["sql"] as SqlFault | undefined;
}
