import type { SqlParameter, SqlValue } from "../../engine/sql/sql.ts";
import { timeText as clockText, intervalText } from "../../engine/sql/time-text.ts";
import type { SqlType } from "../../engine/sql/type.ts";
import { jsonbText, parseBytea, timeText } from "./dialect/literals.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import type { Format } from "./message/frontend.ts";
import { decodeText, MessageReader } from "./message/reader.ts";
import { nameOfOid, parameterType, type TypeName } from "./oid.ts";
import { textOfBinaryDate, textOfBinaryTimestamp } from "./value/calendar.ts";
import { numericText } from "./value/number.ts";

/**
 * A parameter of a Bind message. `oid` is the type that the client gave, or 0; `found` is the one that the statement
 * wants, where it is known.
 */
export function decodeParameter(
  value: Buffer | null,
  format: Format,
  oid: number,
  found: SqlType | undefined,
): SqlParameter {
  const declared = nameOfOid(oid);
  const type = oid === 0 || declared?.name === "unknown" ? found : (parameterType(oid) ?? found);
  if (value === null) return { value: null, ...(type === undefined ? {} : { type }) };
  if (declared?.name === "numeric") return numericParameter(value, format, declared.isArray);
  if (format === 1) return binaryParameter(value, oid, type);
  const text = decodeText(value);
  if (type === undefined) return { value: text };
  if (declared?.name === "jsonb" && !declared.isArray) return { value: ordered(text), type };
  if (type.kind === "list") return { value: parseArray(text, type), type };
  return { value: scalarOf(text, type), type };
}

/** Text stays text and is read by the engine as a value of the type, but for what Postgres writes in its own way. */
function scalarOf(text: string, type: SqlType): SqlValue {
  if (type.kind === "bytes") return parseBytes(text);
  if (type.kind === "boolean") return parseBoolean(text);
  const isTime = type.kind === "date" || type.kind === "timestamp" || type.kind === "timestamptz";
  return isTime ? (timeText(text) ?? text) : text;
}

/** Items have no type of their own on their way, so numbers become numbers here. */
function itemOf(text: string, type: SqlType): SqlValue {
  switch (type.kind) {
    case "int8":
    case "int16":
    case "int32":
    case "int64":
    case "uint8":
    case "uint16":
    case "uint32":
    case "uint64":
      if (!/^[+-]?\d+$/.test(text)) throw invalidText("bigint", text);
      return BigInt(text);
    case "float32":
    case "float64":
    case "decimal": {
      const value = /^[+-]?inf(?:inity)?$/i.test(text) ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);
      if (Number.isNaN(value) && !/^nan$/i.test(text)) throw invalidText("double precision", text);
      return value;
    }
    default:
      return scalarOf(text, type);
  }
}

/** Equal values of jsonb have one text. */
function ordered(json: string): string {
  return jsonbText(json) ?? json;
}

function parseBoolean(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (/^(?:t|true|y|yes|on|1)$/.test(word)) return true;
  if (/^(?:f|false|n|no|off|0)$/.test(word)) return false;
  throw invalidText("boolean", text);
}

function parseBytes(text: string): Uint8Array {
  const bytes = parseBytea(text);
  if (bytes === undefined) throw invalidText("bytea", text);
  return Uint8Array.from(bytes);
}

function invalidText(type: string, text: string): PostgresError {
  return new PostgresError("22P02", `invalid input syntax for type ${type}: ${JSON.stringify(text.slice(0, 100))}`);
}

/** A decimal of as many digits after its point as its text has; one that DuckDB can't hold becomes a double. */
function numericParameter(value: Buffer, format: Format, isArray: boolean): SqlParameter {
  if (isArray) {
    const type: SqlType = { kind: "list", item: { kind: "float64" } };
    return { value: format === 1 ? readArray(value, "numeric") : parseArray(decodeText(value), type), type };
  }
  const text = format === 1 ? readNumeric(new MessageReader(value)) : decodeText(value).trim();
  const [, whole = "", fraction = ""] = /^[+-]?(\d*)(?:\.(\d*))?$/.exec(text) ?? [];
  const digits = whole.length + fraction.length;
  if (digits === 0 || digits > 38) return { value: text, type: { kind: "float64" } };
  return { value: text, type: { kind: "decimal", width: 38, scale: fraction.length } };
}

function binaryParameter(value: Buffer, oid: number, type: SqlType | undefined): SqlParameter {
  const named = nameOfOid(oid);
  if (named?.isArray === true) return { value: readArray(value, named.name), ...(type === undefined ? {} : { type }) };
  if (named === undefined && type?.kind === "list") return { value: readArray(value, "text"), type };
  const name = named?.name ?? binaryNameOf(type);
  if (name === undefined) {
    throw new PostgresError("0A000", `a parameter of type ${oid} can't be read in the binary format; send it as text`);
  }
  return { value: readBinary(value, name), ...(type === undefined ? {} : { type }) };
}

/** The type in whose binary format a client sends what the server told it to be of this type. */
function binaryNameOf(type: SqlType | undefined): TypeName | undefined {
  if (type === undefined) return "text";
  const names: Partial<Record<SqlType["kind"], TypeName>> = {
    boolean: "bool",
    int16: "int2",
    int32: "int4",
    int64: "int8",
    float32: "float4",
    float64: "float8",
    text: "text",
    json: "json",
    bytes: "bytea",
    uuid: "uuid",
    date: "date",
    time: "time",
    timestamp: "timestamp",
    timestamptz: "timestamptz",
    interval: "interval",
    enum: "text",
    decimal: "numeric",
    uint64: "numeric",
    int128: "numeric",
    uint128: "numeric",
    int8: "int2",
    uint8: "int2",
    uint16: "int4",
    uint32: "oid",
  };
  return names[type.kind];
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

function readNumeric(reader: MessageReader): string {
  const count = reader.uint16();
  const [weight, sign, scale] = [reader.int16(), reader.int16(), reader.uint16()];
  if (scale > 1_000 || weight > 1_000) throw new PostgresError("22003", "a numeric has too many digits");
  const digits: number[] = [];
  for (let i = 0; i < count; i++) digits.push(reader.int16());
  return numericText(digits, weight, sign, scale);
}

/** Each item has its length before it. */
const itemHeadBytes = 4;

/** The binary format of an array, see value/binary.ts; more than one dimension nests. */
function readArray(value: Buffer, name: TypeName): SqlValue {
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

/** An array's text: `{1,2,NULL}`, nested ones too; a vector may also be in brackets, as JSON has it. */
export function parseArray(text: string, type: SqlType): SqlValue {
  checkItemCount(itemsIn(text));
  const trimmed = text.trim();
  if (trimmed.startsWith("[") && !/^\[[-+]?\d+:/.test(trimmed)) {
    try {
      return JSON.parse(trimmed) as SqlValue;
    } catch {
      throw invalidText("array", text);
    }
  }
  // Bounds such as [0:2]= tell where the numbering begins, which no value of the engine has.
  const parser = new ArrayParser(trimmed.replace(/^(?:\[[-+]?\d+:[-+]?\d+\])+=/, ""));
  return parser.parse(type);
}

/** At most so many has an array of this text. */
function itemsIn(text: string): number {
  let items = 1;
  for (let at = text.indexOf(","); at !== -1; at = text.indexOf(",", at + 1)) items++;
  return items;
}

function checkItemCount(items: number): void {
  const { arrayItemsMax } = postgresLimits;
  if (items > arrayItemsMax) throw new PostgresError("54000", `an array has more than ${arrayItemsMax} items`);
}

class ArrayParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(type: SqlType): SqlValue {
    const value = this.#list(type, 1);
    if (this.#at !== this.#text.length) throw this.#broken();
    return value;
  }

  #list(type: SqlType, depth: number): SqlValue[] {
    const item: SqlType = type.kind === "list" ? type.item : type;
    if (this.#text[this.#at++] !== "{" || depth > postgresLimits.arrayDepthMax) throw this.#broken();
    const items: SqlValue[] = [];
    this.#space();
    if (this.#text[this.#at] === "}") {
      this.#at++;
      return items;
    }
    for (;;) {
      this.#space();
      items.push(this.#text[this.#at] === "{" ? this.#list(item, depth + 1) : this.#item(item));
      this.#space();
      const next = this.#text[this.#at++];
      if (next === "}") return items;
      if (next !== ",") throw this.#broken();
    }
  }

  #item(type: SqlType): SqlValue {
    if (this.#text[this.#at] === '"') return itemOf(this.#quoted(), type);
    const start = this.#at;
    while (this.#at < this.#text.length && !",{}".includes(this.#text[this.#at]!)) this.#at++;
    const text = this.#text.slice(start, this.#at).trim();
    if (text === "") throw this.#broken();
    return text.toUpperCase() === "NULL" ? null : itemOf(text.replace(/\\(.)/gs, "$1"), type);
  }

  #quoted(): string {
    let text = "";
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at]!;
      if (character === '"') {
        this.#at++;
        return text;
      }
      text += character === "\\" ? (this.#text[++this.#at] ?? "") : character;
    }
    throw this.#broken();
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #broken(): PostgresError {
    return new PostgresError("22P02", `malformed array literal: ${JSON.stringify(this.#text.slice(0, 100))}`);
  }
}
