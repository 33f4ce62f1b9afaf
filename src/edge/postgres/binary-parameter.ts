import type { SqlParameter, SqlValue } from "../../engine/sql/sql.ts";
import { timeText as clockText, intervalText } from "../../engine/sql/time-text.ts";
import type { SqlType } from "../../engine/sql/type.ts";
import { jsonbText } from "./dialect/literals.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import { nameOfOid, scalarNames, type TypeName } from "./message/oid.ts";
import { decodeText, MessageReader } from "./message/reader.ts";
import { textOfBinaryDate, textOfBinaryTimestamp } from "./value/calendar.ts";
import { numericText, scientificText } from "./value/number.ts";

/** Equal values of jsonb have one text. */
export function ordered(json: string): string {
  return jsonbText(json) ?? json;
}

export function binaryParameter(value: Buffer, oid: number, type: SqlType | undefined): SqlParameter {
  const named = nameOfOid(oid);
  if (named?.isArray === true) return { value: readArray(value, named.name), ...(type === undefined ? {} : { type }) };
  if (named === undefined && type?.kind === "list") return { value: readArray(value, "text"), type };
  const name = named?.name ?? binaryNameOf(type);
  if (name === undefined) {
    throw new PostgresError("0A000", `a parameter of type ${oid} can't be read in the binary format; send it as text`);
  }
  return { value: readBinary(value, name), ...(type === undefined ? {} : { type }) };
}

const { null: _, ...announced } = scalarNames;
const binaryNames: Partial<Record<SqlType["kind"], TypeName>> = { ...announced, enum: "text", decimal: "numeric" };

/** The type whose binary format a client uses for a parameter that was announced as this type. */
function binaryNameOf(type: SqlType | undefined): TypeName | undefined {
  if (type === undefined) return "text";
  return binaryNames[type.kind];
}

function readBinary(value: Buffer, name: TypeName): SqlValue {
  const reader = new MessageReader(value);
  const read = readScalar(reader, name, value.length);
  if (reader.left > 0) throw new PostgresError("22P03", `incorrect binary data for type ${name}`);
  return read;
}

function readScalar(reader: MessageReader, name: TypeName, length: number): SqlValue {
  switch (name) {
    case "bool":
      return reader.byte() !== 0;
    case "int2":
      return reader.int16();
    case "int4":
      return reader.int32();
    case "oid":
      return reader.uint32();
    case "int8":
      return reader.int64();
    case "float4":
      return reader.float32();
    case "float8":
      return reader.float64();
    case "bytea":
      // A copy: the bytes that were received are part of a larger buffer.
      return Uint8Array.from(reader.take(length));
    case "uuid": {
      const hex = reader.take(16).toString("hex");
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    }
    case "date":
      return textOfBinaryDate(reader.int32());
    case "time":
      return clockText(reader.int64());
    case "timestamp":
      return textOfBinaryTimestamp(reader.int64(), "");
    case "timestamptz":
      return textOfBinaryTimestamp(reader.int64(), "+00");
    case "interval": {
      const [micros, days, months] = [reader.int64(), reader.int32(), reader.int32()];
      return intervalText(months, days, micros);
    }
    case "numeric":
      return readNumeric(reader);
    case "jsonb":
      // Its version, which is 1.
      reader.byte();
      return ordered(decodeText(reader.take(length - 1)));
    case "vector": {
      // dimensions: int16, unused: int16, each: float4
      const dimensions = reader.int16();
      reader.int16();
      if (dimensions * 4 !== reader.left) throw new PostgresError("22P03", "a vector is cut short");
      return Array.from({ length: dimensions }, () => reader.float32());
    }
    case "timetz":
      throw new PostgresError("0A000", "a time with time zone can't be a parameter");
    default:
      return decodeText(reader.take(length));
  }
}

/** A numeric with more groups of digits than this is no decimal of DuckDB's, whatever its digits. Written out, a few bytes would become thousands. */
const longWeight = 10;

export function readNumeric(reader: MessageReader): string {
  const count = reader.uint16();
  const [weight, sign, scale] = [reader.int16(), reader.int16(), reader.uint16()];
  if (scale > 1_000 || weight > 1_000) throw new PostgresError("22003", "a numeric has too many digits");
  const digits: number[] = [];
  for (let i = 0; i < count; i++) digits.push(reader.int16());
  const isLong = weight >= longWeight || weight < -longWeight || scale > 4 * longWeight;
  return isLong ? scientificText(digits, weight, sign) : numericText(digits, weight, sign, scale);
}

/** Each item has its length before it. */
const itemHeadBytes = 4;

/** The binary format of an array, see value/binary.ts; more than one dimension nests. */
export function readArray(value: Buffer, name: TypeName): SqlValue {
  const reader = new MessageReader(value);
  const dimensions = reader.int32();
  reader.int32();
  const item = nameOfOid(reader.uint32())?.name ?? name;
  if (dimensions === 0) return [];
  if (dimensions < 0 || dimensions > postgresLimits.arrayDepthMax) {
    throw new PostgresError("22P03", `an array of ${dimensions} dimensions can't be read`);
  }
  const lengths: number[] = [];
  for (let i = 0; i < dimensions; i++) {
    lengths.push(reader.int32());
    reader.int32();
  }
  // Inner dimensions of nothing take no bytes, however many they are.
  if (lengths.includes(0)) return [];
  const items = lengths.reduce((product, length) => product * length, 1);
  if (lengths.some((length) => length < 0) || items * itemHeadBytes > reader.left) {
    throw new PostgresError("22P03", "an array is cut short");
  }
  checkItemCount(items);
  const readLevel = (level: number): SqlValue => {
    const length = lengths[level]!;
    return Array.from({ length }, () => (level + 1 < dimensions ? readLevel(level + 1) : readItem(reader, item)));
  };
  const found = readLevel(0);
  reader.done();
  return found;
}

function readItem(reader: MessageReader, name: TypeName): SqlValue {
  const length = reader.int32();
  return length === -1 ? null : readBinary(reader.take(length), name);
}

export function checkItemCount(items: number): void {
  const { arrayItemsMax } = postgresLimits;
  if (items > arrayItemsMax) throw new PostgresError("54000", `an array has more than ${arrayItemsMax} items`);
}
