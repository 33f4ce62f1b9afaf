import type { SqlColumn, Validity } from "../../engine/sql/batch.ts";
import { clockOf, clockText, dateText, dayOf, splitInstant } from "./calendar.ts";

/** One value of a column, as the texts that both protocols need. */

export type FixedColumn = Extract<SqlColumn, { layout: "fixed" }>;

export function isNull(validity: Validity, i: number): boolean {
  return validity !== undefined && (validity[i >> 3]! & (1 << (i & 7))) === 0;
}

/** Sixteen bytes, the low half first, as a signed or unsigned integer. */
export function wideInteger({ data }: FixedColumn, i: number, unsigned: boolean): bigint {
  const halves = data as BigInt64Array | BigUint64Array;
  const low = BigInt.asUintN(64, halves[2 * i]!);
  const high = halves[2 * i + 1]!;
  return ((unsigned ? BigInt.asUintN(64, high) : BigInt.asIntN(64, high)) << 64n) | low;
}

export function decimalText(scaled: bigint, scale: number): string {
  if (scale === 0) return scaled.toString();
  const negative = scaled < 0n;
  const digits = (negative ? -scaled : scaled).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  return `${negative ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** The fewest digits that give the same number of 32 bits again. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

export function uuidText({ data }: FixedColumn, i: number): string {
  const hex = Buffer.from(data.buffer, data.byteOffset + 16 * i, 16).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function intervalText({ data }: FixedColumn, i: number): string {
  const [months, days, micros] = (data as BigInt64Array).subarray(3 * i, 3 * i + 3);
  const parts: string[] = [];
  const add = (count: bigint, unit: string) => {
    if (count !== 0n) parts.push(`${count} ${unit}${count === 1n || count === -1n ? "" : "s"}`);
  };
  add(months! / 12n, "year");
  add(months! % 12n, "month");
  add(days!, "day");
  if (micros !== 0n || parts.length === 0) {
    const size = micros! < 0n ? -micros! : micros!;
    parts.push(`${micros! < 0n ? "-" : ""}${clockText(clockOf(Number(size)))}`);
  }
  return parts.join(" ");
}

export function dateTextAt({ data }: FixedColumn, i: number): string {
  return dateText(dayOf((data as Int32Array)[i]!));
}

export function timeTextAt({ data }: FixedColumn, i: number): string {
  return clockText(clockOf(Number((data as BigInt64Array)[i]!)));
}

/** `offsetMicros` is the session's distance from UTC, which only instants are told with. */
export function timestampTextAt({ data }: FixedColumn, i: number, offsetMicros: bigint): string {
  const { days, micros } = splitInstant((data as BigInt64Array)[i]! + offsetMicros);
  return `${dateText(dayOf(days))} ${clockText(clockOf(micros))}`;
}

/** A list, struct or map as JSON. */
export function jsonAt(column: SqlColumn, i: number): string {
  if (column.layout === "null" || isNull(column.validity, i)) return "null";
  switch (column.layout) {
    case "bits":
      return (column.data[i >> 3]! & (1 << (i & 7))) === 0 ? "false" : "true";
    case "bytes":
      return bytesJson(column, i);
    case "list":
      return column.type.kind === "map" ? mapJson(column, i) : listJson(column, i);
    case "struct":
      return structJson(column, i);
    case "fixed":
      return fixedJson(column, i);
  }
}

function bytesJson(column: Extract<SqlColumn, { layout: "bytes" }>, i: number): string {
  const bytes = Buffer.from(column.data.buffer, column.data.byteOffset, column.data.byteLength);
  const [start, end] = [column.offsets[i]!, column.offsets[i + 1]!];
  if (column.type.kind === "json") return bytes.toString("utf8", start, end);
  return JSON.stringify(bytes.toString(column.type.kind === "bytes" ? "base64" : "utf8", start, end));
}

function listJson(column: Extract<SqlColumn, { layout: "list" }>, i: number): string {
  const items: string[] = [];
  for (let at = column.offsets[i]!; at < column.offsets[i + 1]!; at++) items.push(jsonAt(column.items, at));
  return `[${items.join(",")}]`;
}

function mapJson(column: Extract<SqlColumn, { layout: "list" }>, i: number): string {
  const { items } = column;
  if (items.layout !== "struct") return listJson(column, i);
  const members: string[] = [];
  for (let at = column.offsets[i]!; at < column.offsets[i + 1]!; at++) {
    const key = jsonAt(items.fields[0]!, at);
    members.push(`${key.startsWith('"') ? key : JSON.stringify(key)}:${jsonAt(items.fields[1]!, at)}`);
  }
  return `{${members.join(",")}}`;
}

function structJson(column: Extract<SqlColumn, { layout: "struct" }>, i: number): string {
  const names = column.type.kind === "struct" ? column.type.fields : [];
  const members = column.fields.map((field, at) => `${JSON.stringify(names[at]?.name ?? "")}:${jsonAt(field, i)}`);
  return `{${members.join(",")}}`;
}

function fixedJson(column: FixedColumn, i: number): string {
  const { type } = column;
  switch (type.kind) {
    case "decimal":
      return decimalText(wideInteger(column, i, false), type.scale);
    case "int128":
    case "uint128":
      return wideInteger(column, i, type.kind === "uint128").toString();
    case "float32":
    case "float64": {
      const value = column.data[i] as number;
      if (!Number.isFinite(value)) return JSON.stringify(String(value));
      return type.kind === "float32" ? floatText(value) : String(value);
    }
    case "uuid":
      return `"${uuidText(column, i)}"`;
    case "date":
      return `"${dateTextAt(column, i)}"`;
    case "time":
      return `"${timeTextAt(column, i)}"`;
    case "timestamp":
    case "timestamptz":
      return `"${timestampTextAt(column, i, 0n)}"`;
    case "interval":
      return `"${intervalText(column, i)}"`;
    case "enum":
      return JSON.stringify(type.values[Number(column.data[i])] ?? "");
    default:
      return String(column.data[i]);
  }
}
