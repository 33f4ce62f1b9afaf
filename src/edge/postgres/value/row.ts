import type { SqlBatch, SqlColumn } from "../../../engine/sql/batch.ts";
import { type Format, formatOf } from "../message/frontend.ts";
import type { MessageWriter } from "../message/writer.ts";
import { binaryWriter } from "./binary.ts";
import { isNull, slice, type TextStyle, textReader } from "./text.ts";

export type RowWriter = (out: MessageWriter, row: number) => void;

/** Writes the value of a row with its length, or that it is NULL. */
type CellWriter = RowWriter;

/** DataRow: `D`, and the cells. */
export function rowWriter(batch: SqlBatch, formats: readonly Format[], style: TextStyle): RowWriter {
  const write = rowCells(batch, formats, style);
  return (out, row) => {
    write(out.begin("D"), row);
    out.end();
  };
}

/**
 * The cells of a row: count: int16, for each column { length: int32 (-1 is NULL), value: bytes }. The writers of a
 * batch's columns are chosen once, so that a row costs no look at a type.
 */
export function rowCells(batch: SqlBatch, formats: readonly Format[], style: TextStyle): RowWriter {
  const cells = batch.columns.map((column, i) => cellWriter(column, formatOf(formats, i), style));
  return (out, row) => {
    out.int16(cells.length);
    for (const cell of cells) cell(out, row);
  };
}

function cellWriter(column: SqlColumn, format: Format, style: TextStyle): CellWriter {
  const write = format === 1 ? binaryCell(column) : textCell(column, style);
  if (column.layout === "null") return (out) => out.int32(-1);
  if (column.validity === undefined) return write;
  return (out, row) => {
    if (isNull(column, row)) out.int32(-1);
    else write(out, row);
  };
}

function binaryCell(column: SqlColumn): CellWriter {
  const write = binaryWriter(column);
  return (out, row) => {
    const length = out.hold();
    write(out, row);
    out.fillLength(length);
  };
}

function textCell(column: SqlColumn, style: TextStyle): CellWriter {
  if (column.layout === "bytes" && column.type.kind !== "bytes") {
    // Text goes out as it is, without becoming a string on the way.
    return (out, row) => {
      const bytes = slice(column, row);
      out.int32(bytes.length).raw(bytes);
    };
  }
  const read = textReader(column, style);
  if (column.layout === "bits" || (column.layout === "fixed" && column.type.kind !== "enum")) {
    return (out, row) => {
      const text = read(row);
      out.int32(text.length).ascii(text);
    };
  }
  return (out, row) => {
    const length = out.hold();
    out.text(read(row));
    out.fillLength(length);
  };
}
