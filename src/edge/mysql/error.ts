import { EngineError, type Reason } from "../../engine/errors.ts";
import type { SqlFault, SqlFaultKind } from "../../engine/sql/fault.ts";
import { mysqlLimits } from "./limits.ts";
import type { PacketWriter } from "./packet-writer.ts";

/** The one place where a reason or a statement's fault becomes an error of MySQL: its number and SQLSTATE. */
const errors = {
  tooManyConnections: [1040, "08004"],
  handshake: [1043, "08S01"],
  databaseDenied: [1044, "42000"],
  accessDenied: [1045, "28000"],
  noDatabase: [1046, "3D000"],
  unknownCommand: [1047, "08S01"],
  unknownDatabase: [1049, "42000"],
  ambiguousColumn: [1052, "23000"],
  shutdown: [1053, "08S01"],
  unknownColumn: [1054, "42S22"],
  notGrouped: [1055, "42000"],
  duplicateColumn: [1060, "42S21"],
  syntax: [1064, "42000"],
  emptyQuery: [1065, "42000"],
  noSuchThread: [1094, "HY000"],
  killDenied: [1095, "HY000"],
  tooManyRows: [1104, "42000"],
  /** MySQL has no number for it; the state is the standard's, as Postgres gives it. */
  lost: [1105, "58000"],
  unknown: [1105, "HY000"],
  unknownCharacterSet: [1115, "42000"],
  unknownTable: [1146, "42S02"],
  packetTooLarge: [1153, "08S01"],
  packetsOutOfOrder: [1156, "08S01"],
  idleTimeout: [4031, "HY000"],
  unknownVariable: [1193, "HY000"],
  wrongArguments: [1210, "HY000"],
  limitReached: [1226, "42000"],
  privilegeNeeded: [1227, "42000"],
  wrongVariableValue: [1231, "42000"],
  notSupported: [1235, "42000"],
  readOnlyVariable: [1238, "HY000"],
  unknownStatement: [1243, "HY000"],
  readOnly: [1290, "HY000"],
  wrongValue: [1292, "22007"],
  unknownTimeZone: [1298, "HY000"],
  unknownFunction: [1305, "42000"],
  interrupted: [1317, "70100"],
  divisionByZero: [1365, "22012"],
  noCursor: [1421, "HY000"],
  tooManyStatements: [1461, "42000"],
  busy: [1637, "HY000"],
  outOfRange: [1690, "22003"],
  malformedPacket: [1835, "HY000"],
  timeout: [3024, "HY000"],
  outOfMemory: [3170, "HY000"],
} as const satisfies Record<string, readonly [number, string]>;

export type MysqlErrorName = keyof typeof errors;

export class MysqlError extends Error {
  readonly errno: number;
  readonly sqlState: string;
  /** Whether nothing that follows on the connection could be understood. */
  readonly fatal: boolean;

  constructor(name: MysqlErrorName, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = "MysqlError";
    [this.errno, this.sqlState] = errors[name];
    this.fatal = fatalErrors.includes(name);
  }
}

const fatalErrors: readonly MysqlErrorName[] = [
  "tooManyConnections",
  "handshake",
  "accessDenied",
  "packetTooLarge",
  "packetsOutOfOrder",
  "idleTimeout",
  "malformedPacket",
  "shutdown",
];

export function mysqlError(name: MysqlErrorName, message: string): MysqlError {
  return new MysqlError(name, message);
}

const faults: Readonly<Record<SqlFaultKind, MysqlErrorName>> = {
  syntax: "syntax",
  read_only: "readOnly",
  unsupported: "notSupported",
  unknown_table: "unknownTable",
  unknown_column: "unknownColumn",
  unknown_function: "unknownFunction",
  unknown_namespace: "unknownDatabase",
  ambiguous: "ambiguousColumn",
  type: "wrongArguments",
  grouping: "notGrouped",
  parameter: "wrongArguments",
  division_by_zero: "divisionByZero",
  out_of_range: "outOfRange",
  invalid_value: "wrongValue",
  duplicate_name: "duplicateColumn",
  forbidden: "privilegeNeeded",
  timeout: "timeout",
  cancelled: "interrupted",
  memory: "outOfMemory",
  lost: "lost",
  too_many_rows: "tooManyRows",
  busy: "busy",
  internal: "unknown",
};

const reasonErrors: Partial<Record<Reason, MysqlErrorName>> = {
  invalid_argument: "wrongArguments",
  not_found: "unknownDatabase",
  permission_denied: "databaseDenied",
  unauthenticated: "accessDenied",
  token_expired: "accessDenied",
  resource_exhausted: "limitReached",
  deadline_exceeded: "timeout",
  aborted: "interrupted",
  not_implemented: "notSupported",
  feature_not_in_variant: "notSupported",
};

/** Any error as what goes on the wire. What went wrong inside is for the log alone. */
export function toMysqlError(error: unknown, report: (error: unknown) => void): MysqlError {
  if (error instanceof MysqlError) return error;
  const known = EngineError.from(error);
  const fault = known.details["sql"] as SqlFault | undefined;
  if (fault !== undefined && fault.kind !== "internal") {
    // The statement is all there is, so its field needs no naming.
    return new MysqlError(faults[fault.kind], known.message.replace(/^query: /, ""), { cause: error });
  }
  if (known.reason === "internal") {
    report(error);
    return new MysqlError("unknown", "internal error", { cause: error });
  }
  return new MysqlError(reasonErrors[known.reason] ?? "unknown", known.message, { cause: error });
}

/**
 *   ERR := u8 0xFF, u16 number, with CLIENT_PROTOCOL_41: "#" and 5 characters of SQLSTATE, message to the end
 *
 * A client that has not said yet what it speaks gets no SQLSTATE, as MySQL does it.
 */
export function writeError(packet: PacketWriter, error: MysqlError, withState = true): void {
  packet.begin().u8(0xff).u16(error.errno);
  if (withState) packet.text(`#${error.sqlState}`);
  packet.text(error.message.slice(0, mysqlLimits.messageCharactersMax)).end();
}
