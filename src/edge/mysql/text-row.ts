import type { SqlBatch, SqlColumn } from "../../engine/sql/batch.ts";
import { decimalText, uuidText } from "../../engine/sql/time-text.ts";
import { float32Text, int128 } from "../../engine/sql/value.ts";
import {
  dateTextAt,
  type FixedColumn,
  intervalTextAt,
  isNull,
  isNullable,
  jsonAt,
  timestampTextAt,
  timeTextAt,
} from "./cell.ts";
import type { PacketWriter, RowEncoder } from "./packet-writer.ts";

const nullMark = 0xfb;

/** A row of COM_QUERY := for each column 0xFB for NULL, else a lenenc-string with the value as text. */
export function textRows(batch: SqlBatch, offsetMicros: bigint): RowEncoder {
  const cells = batch.columns.map((column) => cellWriter(column, offsetMicros));
  return (packet, row) => {
    packet.begin();
    for (const cell of cells) cell(packet, row);
    packet.end();
  };
}

type CellWriter = (packet: PacketWriter, row: number) => void;

function cellWriter(column: SqlColumn, offsetMicros: bigint): CellWriter {
  if (column.layout === "null") return (packet) => packet.u8(nullMark);
  const write = valueWriter(column, offsetMicros);
  if (!isNullable(column)) return write;
  return (packet, row) => {
    if (isNull(column, row, offsetMicros)) packet.u8(nullMark);
    else write(packet, row);
  };
}

function valueWriter(column: Exclude<SqlColumn, { layout: "null" }>, offsetMicros: bigint): CellWriter {
  switch (column.layout) {
    case "bits":
      return (packet, row) => packet.lengthAscii((column.data[row >> 3]! & (1 << (row & 7))) === 0 ? "0" : "1");
    case "bytes":
      return (packet, row) => packet.lengthBytes(column.data.subarray(column.offsets[row]!, column.offsets[row + 1]!));
    case "list":
    case "struct":
      return (packet, row) => packet.lengthText(jsonAt(column, row));
    case "fixed": {
      const text = fixedText(column, offsetMicros);
      if (column.type.kind === "enum") return (packet, row) => packet.lengthText(text(row));
      return (packet, row) => packet.lengthAscii(text(row));
    }
  }
}

function fixedText(column: FixedColumn, offsetMicros: bigint): (row: number) => string {
  const { type, data } = column;
  switch (type.kind) {
    case "decimal":
      return (row) => decimalText(int128(data as BigInt64Array, row), type.scale);
    case "int128":
      return (row) => int128(data as BigInt64Array, row).toString();
    case "uint128":
      return (row) => BigInt.asUintN(128, int128(data as BigInt64Array, row)).toString();
    case "float32":
      return (row) => float32Text(data[row] as number);
    case "uuid":
      return (row) => uuidText(data as Uint8Array, 16 * row);
    case "date":
      return (row) => dateTextAt(column, row);
    case "time":
      return (row) => timeTextAt(column, row);
    case "timestamp":
      return (row) => timestampTextAt(column, row, 0n);
    case "timestamptz":
      return (row) => timestampTextAt(column, row, offsetMicros);
    case "interval":
      return (row) => intervalTextAt(column, row);
    case "enum":
      return (row) => type.values[Number(data[row])] ?? "";
    default:
      return (row) => String(data[row]);
  }
}
