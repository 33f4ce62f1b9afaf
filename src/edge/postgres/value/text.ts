import type { SqlColumn } from "../../../engine/sql/batch.ts";
import {
  dateText,
  decimalText,
  intervalText,
  timestampText,
  timeText,
  uuidText,
} from "../../../engine/sql/time-text.ts";
import { float32Text, int128, isValid, jsonText, numberText } from "../../../engine/sql/value.ts";
import { typeName } from "../message/oid.ts";
import { isOpenDecimal, openDecimalText } from "./number.ts";

/** What a session's settings say of texts. */
export interface TextStyle {
  readonly interval: (months: number, days: number, micros: bigint) => string;
}

export const defaultStyle: TextStyle = { interval: intervalText };

/** Gives the text of a value that is there. */
export type TextReader = (row: number) => string;

type Fixed = Extract<SqlColumn, { layout: "fixed" }>;
type Bytes = Extract<SqlColumn, { layout: "bytes" }>;
type List = Extract<SqlColumn, { layout: "list" }>;

export function textReader(column: SqlColumn, style: TextStyle = defaultStyle): TextReader {
  switch (column.layout) {
    case "null":
      return () => "";
    case "bits":
      return (row) => (bitAt(column.data, row) ? "t" : "f");
    case "bytes":
      return column.type.kind === "bytes" ? (row) => `\\x${slice(column, row).toString("hex")}` : utf8Reader(column);
    case "list":
      return typeName(column.type).isArray ? arrayReader(column, style) : jsonReader(column);
    case "struct":
      return jsonReader(column);
    case "fixed":
      return fixedReader(column, style);
  }
}

export function isNull(column: SqlColumn, row: number): boolean {
  return column.layout === "null" || !isValid(column.validity, row);
}

export function bitAt(data: Uint8Array, row: number): boolean {
  return ((data[row >> 3]! >> (row & 7)) & 1) === 1;
}

/** Values that nest deeper than an array of scalars go out as JSON. */
function jsonReader(column: SqlColumn): TextReader {
  return (row) => jsonText(column, row);
}

export function slice(column: Bytes, row: number): Buffer {
  const { data, offsets } = column;
  const start = offsets[row]!;
  return Buffer.from(data.buffer, data.byteOffset + start, offsets[row + 1]! - start);
}

function utf8Reader(column: Bytes): TextReader {
  return (row) => slice(column, row).toString("utf8");
}

function fixedReader({ type, data }: Fixed, style: TextStyle): TextReader {
  const big = (i: number) => BigInt(data[i]!);
  switch (type.kind) {
    case "float32":
      return (row) => float32Text(Number(data[row]));
    case "float64":
      return (row) => numberText(Number(data[row]));
    case "decimal": {
      const write = isOpenDecimal(type.width, type.scale) ? openDecimalText : decimalText;
      return (row) => write(int128(data as BigInt64Array, row), type.scale);
    }
    case "int128":
      return (row) => String(int128(data as BigInt64Array, row));
    case "uint128":
      return (row) => String(BigInt.asUintN(128, int128(data as BigInt64Array, row)));
    case "uuid":
      return (row) => uuidText(data as Uint8Array, 16 * row);
    case "date":
      return (row) => dateText(Number(data[row]));
    case "time":
      return (row) => timeText(big(row));
    case "timestamp":
      return (row) => timestampText(big(row), { separator: " ", zone: "" });
    case "timestamptz":
      return (row) => timestampText(big(row), { separator: " ", zone: "+00" });
    case "interval":
      return (row) => style.interval(Number(data[3 * row]), Number(data[3 * row + 1]), big(3 * row + 2));
    case "enum":
      return (row) => type.values[Number(data[row])] ?? "";
    case "boolean":
      return (row) => (data[row] ? "t" : "f");
    default:
      return (row) => String(data[row]);
  }
}

/** `{a,b,NULL}`; an item that could be read as something else is in quotes. */
function arrayReader(column: List, style: TextStyle): TextReader {
  const { items, offsets } = column;
  const read = textReader(items, style);
  return (row) => {
    let text = "{";
    for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
      if (i > offsets[row]!) text += ",";
      text += isNull(items, i) ? "NULL" : quoted(read(i));
    }
    return `${text}}`;
  };
}

function quoted(item: string): string {
  if (item !== "" && !/[{},"\\\s]|^null$/i.test(item)) return item;
  return `"${item.replace(/["\\]/g, "\\$&")}"`;
}
