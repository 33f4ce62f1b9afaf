import type { PostgresError } from "../error.ts";
import type { Format } from "./frontend.ts";
import type { TypeInfo } from "./oid.ts";
import type { MessageWriter } from "./writer.ts";

export type TransactionStatus = "I" | "T" | "E";

/** AuthenticationOk: `R`, 0: int32 */
export function authenticationOk(out: MessageWriter): void {
  out.begin("R").int32(0).end();
}

/** AuthenticationCleartextPassword: `R`, 3: int32 */
export function authenticationPassword(out: MessageWriter): void {
  out.begin("R").int32(3).end();
}

/** ParameterStatus: `S`, name: text, value: text */
export function parameterStatus(out: MessageWriter, name: string, value: string): void {
  out.begin("S").cstring(name).cstring(value).end();
}

/** BackendKeyData: `K`, process: int32, secret: int32 */
export function backendKey(out: MessageWriter, process: number, secret: number): void {
  out.begin("K").int32(process).int32(secret).end();
}

/** NegotiateProtocolVersion: `v`, minor: int32, count: int32, that many option: text (those that are not known) */
export function negotiateVersion(out: MessageWriter, options: readonly string[]): void {
  out
    .begin("v")
    .int32(3 << 16)
    .int32(options.length);
  for (const option of options) out.cstring(option);
  out.end();
}

/** ReadyForQuery: `Z`, status: byte (I idle, T in a transaction, E in a failed one) */
export function readyForQuery(out: MessageWriter, status: TransactionStatus): void {
  out.begin("Z").byte(status.charCodeAt(0)).end();
}

export interface Field {
  readonly name: string;
  readonly type: TypeInfo;
  /** The column of a table that it is, where that is known. */
  readonly source?: FieldSource | undefined;
}

/** Their numbers in pg_class and pg_attribute. */
export interface FieldSource {
  readonly table: number;
  readonly column: number;
}

/**
 * RowDescription: `T`, count: int16, for each column { name: text, table: int32, column: int16, type: int32,
 * size: int16, modifier: int32, format: int16 }
 */
export function rowDescription(out: MessageWriter, fields: readonly Field[], format: (i: number) => Format): void {
  out.begin("T").int16(fields.length);
  for (const [i, { name, type, source }] of fields.entries()) {
    out
      .cstring(name)
      .uint32(source?.table ?? 0)
      .int16(source?.column ?? 0);
    out.uint32(type.oid).int16(type.size).int32(type.modifier).int16(format(i));
  }
  out.end();
}

/** ParameterDescription: `t`, count: int16, that many type: int32 */
export function parameterDescription(out: MessageWriter, types: readonly number[]): void {
  out.begin("t").int16(types.length);
  for (const type of types) out.uint32(type);
  out.end();
}

/** CommandComplete: `C`, tag: text */
export function commandComplete(out: MessageWriter, tag: string): void {
  out.begin("C").cstring(tag).end();
}

/** CopyOutResponse: `H`, format: byte (0 text, 1 binary), count: int16, that many format: int16 */
export function copyOut(out: MessageWriter, format: Format, columns: number): void {
  out.begin("H").byte(format).int16(columns);
  for (let i = 0; i < columns; i++) out.int16(format);
  out.end();
}

const empty = {
  parseComplete: "1",
  bindComplete: "2",
  closeComplete: "3",
  noData: "n",
  portalSuspended: "s",
  emptyQuery: "I",
  copyDone: "c",
} as const;

/** ParseComplete `1`, BindComplete `2`, CloseComplete `3`, NoData `n`, PortalSuspended `s`, EmptyQueryResponse `I`, CopyDone `c` */
export function emptyMessage(out: MessageWriter, kind: keyof typeof empty): void {
  out.begin(empty[kind]).end();
}

/**
 * ErrorResponse `E` and NoticeResponse `N`: pairs of { field: byte, value: text } up to a zero byte. S and V severity,
 * C SQLSTATE, M message, D detail, H hint, P position in characters from 1.
 */
export function errorResponse(out: MessageWriter, error: PostgresError, severity: "ERROR" | "FATAL"): void {
  report(out, "E", severity, error);
}

export function noticeResponse(out: MessageWriter, notice: PostgresError): void {
  report(out, "N", "WARNING", notice);
}

function report(out: MessageWriter, type: string, severity: string, error: PostgresError): void {
  const { code, message, detail, hint, position } = error;
  out.begin(type);
  for (const [field, value] of [
    ["S", severity],
    ["V", severity],
    ["C", code],
    ["M", message],
    ["D", detail],
    ["H", hint],
    ["P", position === undefined ? undefined : String(position)],
  ] as const) {
    if (value !== undefined) out.byte(field.charCodeAt(0)).cstring(value);
  }
  out.byte(0).end();
}
