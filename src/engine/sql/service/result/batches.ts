import type { FixedData, SqlBatch, SqlColumn, Validity } from "../../batch.ts";
import { sqlFault } from "../../fault.ts";
import { nameBytes } from "../../value.ts";
import { takeRows, widthOf } from "./read-chunk.ts";

/** Several batches of the same columns as one: a message for each small one would cost more than the copy. */
export function joinBatches(batches: readonly SqlBatch[]): SqlBatch {
  const [first] = batches;
  if (first === undefined) throw new Error("nothing to join");
  if (batches.length === 1) return first;
  const counts = batches.map(({ rows }) => rows);
  const columns = first.columns.map((_, i) =>
    joinColumns(
      batches.map(({ columns }) => columns[i]!),
      counts,
    ),
  );
  return { rows: counts.reduce((sum, rows) => sum + rows, 0), columns };
}

function joinColumns(columns: readonly SqlColumn[], counts: readonly number[]): SqlColumn {
  const first = columns[0]!;
  if (first.layout === "null") return first;
  const validity = joinValidity(columns, counts);
  switch (first.layout) {
    case "bits":
      return {
        ...first,
        validity,
        data: joinBits(
          of(columns, "bits").map(({ data }) => data),
          counts,
        ),
      };
    case "fixed":
      return { ...first, validity, data: joinFixed(of(columns, "fixed"), counts, widthOf(first)) };
    case "bytes": {
      const parts = of(columns, "bytes");
      const offsets = joinOffsets(parts, counts);
      const data = new Uint8Array(offsets[offsets.length - 1]!);
      let at = 0;
      parts.forEach((part, i) => {
        const length = part.offsets[counts[i]!]!;
        data.set(part.data.subarray(0, length), at);
        at += length;
      });
      return { ...first, validity, offsets, data };
    }
    case "list": {
      const parts = of(columns, "list");
      const items = joinColumns(
        parts.map(({ items }) => items),
        parts.map(({ offsets }, i) => offsets[counts[i]!]!),
      );
      return { ...first, validity, offsets: joinOffsets(parts, counts), items };
    }
    case "struct": {
      const parts = of(columns, "struct");
      const fields = first.fields.map((_, i) =>
        joinColumns(
          parts.map(({ fields }) => fields[i]!),
          counts,
        ),
      );
      return { ...first, validity, fields };
    }
  }
}

type Layout = SqlColumn["layout"];

function of<L extends Layout>(columns: readonly SqlColumn[], layout: L): Extract<SqlColumn, { layout: L }>[] {
  for (const column of columns) if (column.layout !== layout) throw new Error("columns of one result differ");
  return columns as Extract<SqlColumn, { layout: L }>[];
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function joinFixed(
  parts: readonly Extract<SqlColumn, { layout: "fixed" }>[],
  counts: readonly number[],
  width: number,
): FixedData {
  const Made = parts[0]!.data.constructor as new (length: number) => FixedData;
  const data = new Made(total(counts) * width);
  let at = 0;
  parts.forEach((part, i) => {
    const length = counts[i]! * width;
    // All parts are of one type, which the union of their arrays does not tell.
    (data as Uint8Array).set((part.data as Uint8Array).subarray(0, length), at);
    at += length;
  });
  return data;
}

function joinOffsets(parts: readonly { readonly offsets: Int32Array }[], counts: readonly number[]): Int32Array {
  const offsets = new Int32Array(total(counts) + 1);
  let at = 0;
  let base = 0;
  parts.forEach((part, i) => {
    const rows = counts[i]!;
    for (let k = 1; k <= rows; k++) offsets[at + k] = base + part.offsets[k]!;
    at += rows;
    base = offsets[at]!;
  });
  return offsets;
}

function joinValidity(columns: readonly SqlColumn[], counts: readonly number[]): Validity {
  const validities = columns.map((column) => (column.layout === "null" ? undefined : column.validity));
  if (validities.every((validity) => validity === undefined)) return undefined;
  return joinBits(validities, counts);
}

/** Absent bits are all set. */
function joinBits(parts: readonly Validity[], counts: readonly number[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(total(counts) / 8));
  let at = 0;
  parts.forEach((part, i) => {
    const rows = counts[i]!;
    for (let k = 0; k < rows; k++, at++) {
      if (part === undefined || ((part[k >> 3]! >> (k & 7)) & 1) === 1) bits[at >> 3]! |= 1 << (at & 7);
    }
  });
  return bits;
}

/** What a row may have, whichever way it goes out. */
const rowBytesMax = 64 * 1024 * 1024;

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
