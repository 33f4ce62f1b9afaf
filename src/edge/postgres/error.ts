import { EngineError, type Reason } from "../../engine/errors.ts";
import type { SqlFault, SqlFaultKind } from "../../engine/sql/fault.ts";

export interface PostgresErrorOptions {
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  /** In characters from 1. */
  readonly position?: number | undefined;
  readonly cause?: unknown;
}

/** An error in the words of this wire. */
export class PostgresError extends Error {
  /** SQLSTATE. */
  readonly code: string;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  readonly position: number | undefined;

  constructor(code: string, message: string, options: PostgresErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "PostgresError";
    this.code = code;
    this.detail = options.detail;
    this.hint = options.hint;
    this.position = options.position;
  }
}

const faultStates: Readonly<Record<SqlFaultKind, string>> = {
  syntax: "42601",
  read_only: "25006",
  unsupported: "0A000",
  unknown_table: "42P01",
  unknown_column: "42703",
  unknown_function: "42883",
  unknown_namespace: "3D000",
  ambiguous: "42702",
  type: "42804",
  grouping: "42803",
  parameter: "42P02",
  division_by_zero: "22012",
  out_of_range: "22003",
  invalid_value: "22P02",
  duplicate_name: "42701",
  forbidden: "42501",
  timeout: "57014",
  cancelled: "57014",
  memory: "53200",
  lost: "58000",
  too_many_rows: "54000",
  busy: "53000",
  internal: "XX000",
};

/** For what is no fault of a statement. A reason that is not named here can't come from SQL. */
const reasonStates: Readonly<Partial<Record<Reason, string>>> = {
  invalid_argument: "22023",
  not_found: "42704",
  unauthenticated: "28P01",
  token_expired: "28P01",
  permission_denied: "42501",
  resource_exhausted: "53000",
  unavailable: "57P03",
  deadline_exceeded: "57014",
  not_implemented: "0A000",
  feature_not_in_variant: "0A000",
};

/** The one place where an error of the engine becomes one of this wire. Its position counts units of a string from 1. */
export function postgresError(error: unknown): PostgresError {
  if (error instanceof PostgresError) return error;
  const engineError = EngineError.from(error);
  const fault = engineError.details["sql"] as SqlFault | undefined;
  const hint =
    engineError.details["hint"] ?? engineError.metadata["hint"] ?? systemColumnHint(engineError.message, fault);
  return new PostgresError(
    fault === undefined ? (reasonStates[engineError.reason] ?? "XX000") : faultStates[fault.kind],
    engineError.message.replace(/^(?:query|params(?:\[\d+\])?): /, ""),
    {
      hint: typeof hint === "string" ? hint : undefined,
      position: fault?.position === undefined ? undefined : fault.position + 1,
      cause: engineError.cause,
    },
  );
}

/** Clients that watch rows for changes ask for the columns that every table of Postgres has. */
function systemColumnHint(message: string, fault: SqlFault | undefined): string | undefined {
  if (fault?.kind !== "unknown_column" || !/"(?:[xc]m(?:in|ax)|ctid|tableoid)"/.test(message)) return undefined;
  return "Rows of collections, streams and links have no system columns; the key of a collection is _id.";
}

/** How many characters, of which some are two units of a string, the first `units` units are. */
export function characters(text: string, units: number): number {
  let count = 0;
  for (let i = 0; i < Math.min(units, text.length); count++) i += (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
  return count;
}
