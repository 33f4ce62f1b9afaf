import type { FixedData, SqlBatch, SqlColumn, Validity } from "../../batch.ts";
import { widthOf } from "./read-chunk.ts";

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
  const given = columns.map((column) => (column.layout === "null" ? undefined : column.validity));
  if (given.every((validity) => validity === undefined)) return undefined;
  return joinBits(given, counts);
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
