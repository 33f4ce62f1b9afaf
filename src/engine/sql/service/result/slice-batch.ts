import type { SqlBatch, SqlColumn } from "../../batch.ts";
import { sqlFault } from "../../fault.ts";
import { nameBytes } from "../../value.ts";
import { takeRows } from "./read-chunk.ts";

/** What a row may have, whichever way it goes out. */
export const rowBytesMax = 64 * 1024 * 1024;

/** A batch in parts of about so many bytes, each at least a row: DuckDB gives 2,048 rows at a time, however long they are. */
export function* slicesOf(batch: SqlBatch, bytesMax: number): Iterable<SqlBatch> {
  let from = 0;
  let bytes = 0;
  for (let row = 0; row < batch.rows; row++) {
    const more = batch.columns.reduce((sum, column) => sum + bytesIn(column, row, row + 1), 0);
    if (more > rowBytesMax) throw sqlFault("out_of_range", `a row has more than ${rowBytesMax} bytes`);
    if (row > from && bytes + more > bytesMax) {
      yield part(batch, from, row);
      from = row;
      bytes = 0;
    }
    bytes += more;
  }
  yield from === 0 ? batch : part(batch, from, batch.rows);
}

function part({ columns }: SqlBatch, from: number, to: number): SqlBatch {
  const rows = Array.from({ length: to - from }, (_, i) => from + i);
  return { rows: rows.length, columns: columns.map((column) => takeRows(column, rows)) };
}

/** What varies in length counts, as do the names of members, which most wires repeat; a value of fixed width is taken for 8 bytes. */
function bytesIn(column: SqlColumn, from: number, to: number): number {
  switch (column.layout) {
    case "null":
    case "bits":
      return to - from;
    case "fixed":
      return (to - from) * 8;
    case "bytes":
      return column.offsets[to]! - column.offsets[from]!;
    case "list":
      return (to - from) * 4 + bytesIn(column.items, column.offsets[from]!, column.offsets[to]!);
    case "struct":
      return column.fields.reduce(
        (sum, field) => sum + bytesIn(field, from, to),
        column.type.kind === "struct" ? (to - from) * nameBytes(column.type) : 0,
      );
  }
}
