import { runSteps } from "../turns.ts";
import type { SqlBatch, SqlColumn, Validity } from "./batch.ts";
import { sqlFault } from "./fault.ts";
import { isJson } from "./json-check.ts";
import type { SqlValue } from "./sql.ts";
import { decimalText, intervalText, isoDateText, timestampText, timeText, uuidText } from "./time-text.ts";
import type { SqlType } from "./type.ts";

export function isValid(validity: Validity, row: number): boolean {
  return validity === undefined || ((validity[row >> 3]! >> (row & 7)) & 1) === 1;
}

type Fixed = Extract<SqlColumn, { layout: "fixed" }>;

/**
 * One value of a result. 64-bit and larger integers are bigints; dates, times, UUIDs, decimals and intervals are their
 * texts, an instant in RFC 3339 in UTC; a map is an object by the texts of its keys.
 */
export function readValue(column: SqlColumn, row: number): SqlValue {
  if (column.layout === "null" || !isValid(column.validity, row)) return null;
  switch (column.layout) {
    case "bits":
      return ((column.data[row >> 3]! >> (row & 7)) & 1) === 1;
    case "fixed":
      return readFixed(column, row);
    case "bytes": {
      const bytes = column.data.subarray(column.offsets[row]!, column.offsets[row + 1]!);
      return column.type.kind === "bytes" ? bytes : utf8(bytes);
    }
    case "list":
      return column.type.kind === "map" ? readMap(column, row) : readItems(column, row);
    case "struct": {
      const { type, fields } = column;
      if (type.kind !== "struct") throw new Error("a struct's column has another type");
      const value: Record<string, SqlValue> = {};
      type.fields.forEach(({ name }, i) => {
        setMember(value, name, readValue(fields[i]!, row));
      });
      return value;
    }
  }
}

/** What a text may be at most to be made into a value; the runtime itself takes twice as much. */
const textBytesMax = 64 * 1024 * 1024;

export function checkValueBytes(bytes: number): void {
  if (bytes <= textBytesMax) return;
  throw sqlFault("out_of_range", `a value of ${bytes} bytes is too long; ${textBytesMax} are the most`);
}

/** What a row's nested values may weigh where they are written in one go: others wait meanwhile. */
const rowWeightMax = 100_000;

export function checkWeight({ columns, rows }: SqlBatch): void {
  for (const column of columns) {
    if (weightOf(column, 0, rows) <= rowWeightMax) continue;
    for (let row = 0; row < rows; row++) {
      if (weightOf(column, row, row + 1) <= rowWeightMax) continue;
      throw sqlFault("out_of_range", `a value of more than ${rowWeightMax} parts is too long for this wire`);
    }
  }
}

/** Bytes of a text or of a name that weigh as much as an item. */
const itemBytes = 64;
/** The same of JSON, which is looked at letter by letter. */
const jsonBytes = 8;

/** What lists, maps and structs in some rows of a column take to be written, at all levels: about the number of their parts. */
export function weightOf(column: SqlColumn, from: number, to: number): number {
  return column.layout === "list" || column.layout === "struct" ? partsWeight(column, from, to) : 0;
}

function partsWeight(column: SqlColumn, from: number, to: number): number {
  switch (column.layout) {
    case "struct": {
      const names = column.type.kind === "struct" ? nameBytes(column.type) : 0;
      const own = (to - from) * (column.fields.length + names / itemBytes);
      return column.fields.reduce((sum, field) => sum + partsWeight(field, from, to), own);
    }
    case "list": {
      const [first, last] = [column.offsets[from]!, column.offsets[to]!];
      return last - first + partsWeight(column.items, first, last);
    }
    case "bytes":
      return (column.offsets[to]! - column.offsets[from]!) / (column.type.kind === "json" ? jsonBytes : itemBytes);
    default:
      return 0;
  }
}

const nameBytesOf = new WeakMap<SqlType, number>();

/** The names of a struct's members are written with each of its values. */
export function nameBytes(type: Extract<SqlType, { kind: "struct" }>): number {
  const known = nameBytesOf.get(type);
  if (known !== undefined) return known;
  const bytes = type.fields.reduce((sum, { name }) => sum + name.length, 0);
  nameBytesOf.set(type, bytes);
  return bytes;
}

function utf8(bytes: Uint8Array): string {
  checkValueBytes(bytes.byteLength);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

/** A name such as `__proto__` is a member like any other. */
function setMember(object: Record<string, SqlValue>, name: string, value: SqlValue): void {
  if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true });
  else object[name] = value;
}

function readItems(column: Extract<SqlColumn, { layout: "list" }>, row: number): SqlValue[] {
  const items: SqlValue[] = [];
  for (let i = column.offsets[row]!; i < column.offsets[row + 1]!; i++) items.push(readValue(column.items, i));
  return items;
}

function readMap(column: Extract<SqlColumn, { layout: "list" }>, row: number): SqlValue {
  const { items } = column;
  if (items.layout !== "struct") throw new Error("a map's items are structs");
  const [keys, values] = items.fields;
  const value: Record<string, SqlValue> = {};
  for (let i = column.offsets[row]!; i < column.offsets[row + 1]!; i++) {
    setMember(value, textOf(keys!, i), readValue(values!, i));
  }
  return value;
}

function readFixed({ type, data }: Fixed, row: number): SqlValue {
  switch (type.kind) {
    case "decimal":
      return decimalText(int128(data as BigInt64Array, row), type.scale);
    case "int128":
      return int128(data as BigInt64Array, row);
    case "uint128":
      return BigInt.asUintN(128, int128(data as BigInt64Array, row));
    case "uuid":
      return uuidText(data as Uint8Array, row * 16);
    case "date":
      return isoDateText(Number(data[row]!));
    case "time":
      return timeText(BigInt(data[row]!));
    case "timestamp":
      return timestampText(BigInt(data[row]!), { separator: "T", zone: "" });
    case "timestamptz":
      return timestampText(BigInt(data[row]!), { separator: "T", zone: "Z" });
    case "interval":
      return intervalText(Number(data[row * 3]!), Number(data[row * 3 + 1]!), BigInt(data[row * 3 + 2]!));
    case "enum":
      return type.values[Number(data[row]!)] ?? null;
    default:
      return data[row]!;
  }
}

/** A 128-bit integer, its low half first. */
export function int128(data: BigInt64Array | BigUint64Array, row: number): bigint {
  return (BigInt(data[row * 2 + 1]!) << 64n) | BigInt.asUintN(64, BigInt(data[row * 2]!));
}

/** How a type is called: DuckDB's own names, which REST shows. */
export function typeName(type: SqlType): string {
  switch (type.kind) {
    case "decimal":
      return `DECIMAL(${type.width},${type.scale})`;
    case "enum":
      return `ENUM(${type.values.map((value) => `'${value.replaceAll("'", "''")}'`).join(", ")})`;
    case "list":
      return `${typeName(type.item)}[${type.size ?? ""}]`;
    case "struct":
      return `STRUCT(${type.fields.map(({ name, type }) => `${quoted(name)} ${typeName(type)}`).join(", ")})`;
    case "map":
      return `MAP(${typeName(type.key)}, ${typeName(type.value)})`;
    default:
      return scalarNames[type.kind];
  }
}

const scalarNames = {
  null: "NULL",
  boolean: "BOOLEAN",
  int8: "TINYINT",
  int16: "SMALLINT",
  int32: "INTEGER",
  int64: "BIGINT",
  int128: "HUGEINT",
  uint8: "UTINYINT",
  uint16: "USMALLINT",
  uint32: "UINTEGER",
  uint64: "UBIGINT",
  uint128: "UHUGEINT",
  float32: "FLOAT",
  float64: "DOUBLE",
  text: "VARCHAR",
  json: "JSON",
  bytes: "BLOB",
  uuid: "UUID",
  date: "DATE",
  time: "TIME",
  timestamp: "TIMESTAMP",
  timestamptz: "TIMESTAMP WITH TIME ZONE",
  interval: "INTERVAL",
} as const;

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** A number as SQL writes it. */
export function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "Infinity";
  if (value === -Infinity) return "-Infinity";
  return Object.is(value, -0) ? "-0" : String(value);
}

/** A single-precision number with no more digits than it has. */
export function float32Text(value: number): string {
  if (!Number.isFinite(value)) return numberText(value);
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return numberText(short);
  }
  return numberText(Number(value.toPrecision(9)));
}

/** Digits that a number of JavaScript is sure to keep. */
export const exactDigits = 15;

/**
 * A value that does not nest, as JSON has it: integers are numbers while they are safe and text beyond, as are numbers
 * that JSON does not know and decimals of more digits than a number keeps; bytes are base64.
 */
export function jsonScalar(value: SqlValue, type?: SqlType): string | number | boolean | null {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return type?.kind === "decimal" && type.width <= exactDigits ? Number(value) : value;
  if (typeof value === "bigint") {
    const safe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
    return safe ? Number(value) : String(value);
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return numberText(value);
    return type?.kind === "float32" ? Number(float32Text(value)) : value;
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  throw new Error("a nested value is no scalar");
}

/** Any value as JSON. JSON in it stays as it is written: it may be long, and its numbers larger than JavaScript's. */
export function jsonText(column: SqlColumn, row: number): string {
  if (column.layout === "null" || !isValid(column.validity, row)) return "null";
  if (column.layout === "struct" && column.type.kind === "struct") {
    const { fields } = column.type;
    return `{${fields.map(({ name }, i) => `${JSON.stringify(name)}:${jsonText(column.fields[i]!, row)}`).join()}}`;
  }
  if (column.layout === "list") {
    const { items, offsets } = column;
    const [keys, values] = column.type.kind === "map" && items.layout === "struct" ? items.fields : [];
    const texts: string[] = [];
    for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
      texts.push(values === undefined ? jsonText(items, i) : `${keyText(keys!, i)}:${jsonText(values, i)}`);
    }
    return values === undefined ? `[${texts.join()}]` : `{${texts.join()}}`;
  }
  const value = readValue(column, row);
  // A cast makes no JSON of what is none.
  if (column.type.kind === "json" && runSteps(isJson(value as string))) return value as string;
  return JSON.stringify(jsonScalar(value, column.type));
}

/** The key of a map as the name of a member. */
export function keyText(keys: SqlColumn, row: number): string {
  return JSON.stringify(textOf(keys, row));
}

/** A value as text, where it has to be one: lists and structs are JSON, bytes are hexadecimal after `\x`. */
function textOf(column: SqlColumn, row: number): string {
  if (column.layout === "list" || column.layout === "struct") return jsonText(column, row);
  const value = readValue(column, row);
  if (value === null) return "NULL";
  if (typeof value === "number") return column.type.kind === "float32" ? float32Text(value) : numberText(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return String(value);
}
