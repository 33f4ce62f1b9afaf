import type { SqlParameter } from "../../engine/sql/sql.ts";
import type { SqlType } from "../../engine/sql/type.ts";
import type { ByteReader } from "./byte-reader.ts";
import { clockText, dateText } from "./calendar.ts";
import { MysqlError, mysqlError } from "./error.ts";
import { fieldType } from "./type.ts";

export interface ParameterType {
  readonly code: number;
  readonly unsigned: boolean;
}

export interface BoundParameters {
  readonly params: readonly SqlParameter[];
  /** As the client named them now or earlier: it may leave them out when they have not changed. */
  readonly types: readonly ParameterType[];
}

const unsignedBit = 0x80;

/**
 *   The parameters of COM_STMT_EXECUTE := bitmap of NULLs (bit 0 is the first), u8 whether types follow,
 *                                         for each: u8 type, u8 0x80 when unsigned; then the values that are not NULL
 *
 * Values are written as in a binary row. One that came with COM_STMT_SEND_LONG_DATA is not there again.
 * `wanted` is what the statement makes of each parameter, so that text is read as a value of it.
 */
export function readParameters(
  reader: ByteReader,
  wanted: readonly (SqlType | undefined)[],
  known: readonly ParameterType[],
  longData: ReadonlyMap<number, readonly Buffer[]>,
): BoundParameters {
  if (wanted.length === 0) return { params: [], types: known };
  try {
    return readBound(reader, wanted, known, longData);
  } catch (error) {
    // The packet itself is whole: a client that bound too few values is told so and keeps its session.
    if (!(error instanceof MysqlError && error.fatal)) throw error;
    throw mysqlError("wrongArguments", "Incorrect arguments to mysqld_stmt_execute");
  }
}

function readBound(
  reader: ByteReader,
  wanted: readonly (SqlType | undefined)[],
  known: readonly ParameterType[],
  longData: ReadonlyMap<number, readonly Buffer[]>,
): BoundParameters {
  const count = wanted.length;
  const bitmap = reader.bytes((count + 7) >> 3);
  const types = reader.u8() === 1 ? readTypes(reader, count) : known;
  if (types.length !== count) throw mysqlError("wrongArguments", "Incorrect arguments to EXECUTE: no parameter types");
  const params = types.map((type, i): SqlParameter => {
    const long = longData.get(i);
    if (long !== undefined) return bytesParameter(type.code, Buffer.concat(long), wanted[i]);
    if ((bitmap[i >> 3]! & (1 << (i & 7))) !== 0) return { value: null };
    return readValue(reader, type, wanted[i]);
  });
  return { params, types };
}

function readTypes(reader: ByteReader, count: number): ParameterType[] {
  return Array.from({ length: count }, () => ({ code: reader.u8(), unsigned: (reader.u8() & unsignedBit) !== 0 }));
}

const integer: SqlType = { kind: "int64" };

function readValue(reader: ByteReader, { code, unsigned }: ParameterType, wanted: SqlType | undefined): SqlParameter {
  switch (code) {
    case fieldType.null:
      return { value: null };
    case fieldType.tiny:
      return { value: unsigned ? reader.u8() : reader.i8(), type: wanted?.kind === "boolean" ? wanted : integer };
    case fieldType.short:
    case fieldType.year:
      return { value: unsigned ? reader.u16() : reader.i16(), type: integer };
    case fieldType.long:
    case fieldType.int24:
      return { value: unsigned ? reader.u32() : reader.i32(), type: integer };
    case fieldType.longlong:
      return unsigned ? { value: reader.u64(), type: { kind: "uint64" } } : { value: reader.i64(), type: integer };
    case fieldType.float:
      return { value: reader.f32(), type: { kind: "float32" } };
    case fieldType.double:
      return numberParameter(reader.f64());
    case fieldType.date:
    case fieldType.datetime:
    case fieldType.timestamp:
      return instantParameter(reader, wanted);
    case fieldType.time:
      return { value: timeText(reader), type: { kind: wanted?.kind === "interval" ? "interval" : "time" } };
    default:
      return bytesParameter(code, reader.lengthBytes(), wanted);
  }
}

/** Some drivers give every number as a double; where one is whole it may stand for a LIMIT, which must be an integer. */
function numberParameter(value: number): SqlParameter {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return { value, type: integer };
  return { value, type: { kind: "float64" } };
}

const blobs: readonly number[] = [
  fieldType.tinyBlob,
  fieldType.mediumBlob,
  fieldType.longBlob,
  fieldType.blob,
  fieldType.bit,
  fieldType.geometry,
];
const texts: readonly SqlType["kind"][] = ["text", "json", "enum"];
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function bytesParameter(code: number, bytes: Buffer, wanted: SqlType | undefined): SqlParameter {
  if (blobs.includes(code) && (wanted === undefined || wanted.kind === "bytes")) {
    return { value: Uint8Array.from(bytes), type: { kind: "bytes" } };
  }
  if (wanted?.kind === "bytes") return { value: Uint8Array.from(bytes), type: wanted };
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    if (blobs.includes(code)) return { value: Uint8Array.from(bytes), type: { kind: "bytes" } };
    throw mysqlError("wrongValue", "A parameter is not valid UTF-8; this server speaks utf8mb4 only");
  }
  if (code === fieldType.newDecimal || code === fieldType.decimal) return decimalParameter(text);
  if (code === fieldType.json && wanted === undefined) return { value: text, type: { kind: "json" } };
  return wanted === undefined || texts.includes(wanted.kind)
    ? { value: text, type: { kind: "text" } }
    : { value: text, type: wanted };
}

function decimalParameter(text: string): SqlParameter {
  const match = /^[+-]?(\d*)(?:\.(\d*))?$/.exec(text);
  const scale = match?.[2]?.length ?? 0;
  const width = Math.max(1, (match?.[1]?.length ?? 0) + scale);
  if (match === null || width > 38) return { value: text, type: { kind: "float64" } };
  return { value: text, type: { kind: "decimal", width, scale } };
}

function instantParameter(reader: ByteReader, wanted: SqlType | undefined): SqlParameter {
  const length = reader.u8();
  if (![0, 4, 7, 11].includes(length)) throw mysqlError("malformedPacket", "a date has a wrong length");
  const day =
    length >= 4 ? { year: reader.u16(), month: reader.u8(), day: reader.u8() } : { year: 0, month: 0, day: 0 };
  const [hours, minutes, seconds] = length >= 7 ? [reader.u8(), reader.u8(), reader.u8()] : [0, 0, 0];
  const micros = length === 11 ? reader.u32() : 0;
  const date = dateText(day);
  if (length <= 4 && wanted?.kind !== "timestamp" && wanted?.kind !== "timestamptz") {
    return { value: date, type: { kind: "date" } };
  }
  const value = `${date} ${clockText({ hours, minutes, seconds, micros })}`;
  return { value, type: { kind: wanted?.kind === "timestamptz" ? "timestamptz" : "timestamp" } };
}

function timeText(reader: ByteReader): string {
  const length = reader.u8();
  if (length === 0) return "00:00:00";
  if (length !== 8 && length !== 12) throw mysqlError("malformedPacket", "a time has a wrong length");
  const negative = reader.u8() === 1;
  const days = reader.u32();
  const [hours, minutes, seconds] = [reader.u8(), reader.u8(), reader.u8()];
  const micros = length === 12 ? reader.u32() : 0;
  return `${negative ? "-" : ""}${clockText({ hours: days * 24 + hours, minutes, seconds, micros })}`;
}
