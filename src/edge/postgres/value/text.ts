import type { SqlColumn } from "../../../engine/sql/batch.ts";
import { typeName } from "../oid.ts";
import { dateText, intervalText, timestampText, timeText } from "./calendar.ts";
import { bitAt, isNull, uuidAt, wideAt } from "./column.ts";
import { jsonReader } from "./json.ts";
import { decimalText, float32Text, float64Text } from "./number.ts";

/** Gives the text of a value that is there. */
export type TextReader = (row: number) => string;

type Fixed = Extract<SqlColumn, { layout: "fixed" }>;
type Bytes = Extract<SqlColumn, { layout: "bytes" }>;
type List = Extract<SqlColumn, { layout: "list" }>;

export function textReader(column: SqlColumn): TextReader {
  switch (column.layout) {
    case "null":
      return () => "";
    case "bits":
      return (row) => (bitAt(column.data, row) ? "t" : "f");
    case "bytes":
      return column.type.kind === "bytes" ? (row) => `\\x${slice(column, row).toString("hex")}` : utf8Reader(column);
    case "list":
      return typeName(column.type).isArray ? arrayReader(column) : jsonReader(column);
    case "struct":
      return jsonReader(column);
    case "fixed":
      return fixedReader(column);
  }
}

export function slice(column: Bytes, row: number): Buffer {
  const { data, offsets } = column;
  const start = offsets[row]!;
  return Buffer.from(data.buffer, data.byteOffset + start, offsets[row + 1]! - start);
}

export function utf8Reader(column: Bytes): TextReader {
  return (row) => slice(column, row).toString("utf8");
}

export function fixedReader({ type, data }: Fixed): TextReader {
  const big = (i: number) => BigInt(data[i]!);
  switch (type.kind) {
    case "float32":
      return (row) => float32Text(Number(data[row]));
    case "float64":
      return (row) => float64Text(Number(data[row]));
    case "decimal":
      return (row) => decimalText(wideAt(data, row, true), type.scale);
    case "int128":
    case "uint128":
      return (row) => String(wideAt(data, row, type.kind === "int128"));
    case "uuid":
      return (row) => uuidAt(data, row);
    case "date":
      return (row) => dateText(Number(data[row]));
    case "time":
      return (row) => timeText(big(row));
    case "timestamp":
      return (row) => timestampText(big(row), "");
    case "timestamptz":
      return (row) => timestampText(big(row), "+00");
    case "interval":
      return (row) => intervalText(big(3 * row), big(3 * row + 1), big(3 * row + 2));
    case "enum":
      return (row) => type.values[Number(data[row])] ?? "";
    case "boolean":
      return (row) => (data[row] ? "t" : "f");
    default:
      return (row) => String(data[row]);
  }
}

/** `{a,b,NULL}`; an item that could be read as something else is in quotes. */
function arrayReader(column: List): TextReader {
  const { items, offsets } = column;
  const read = textReader(items);
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
