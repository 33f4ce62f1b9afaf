import type { SqlBatch, SqlColumn } from "../../../engine/sql/batch.ts";
import type { SqlType } from "../../../engine/sql/type.ts";
import { type ArrowArray, arrayOf } from "./array.ts";
import { recordBatchMessage } from "./schema.ts";
import type { ArrowField } from "./type.ts";

/** An IPC message: its metadata, and the buffers of its body one after the other. */
export interface ArrowMessage {
  readonly metadata: Uint8Array;
  readonly body: readonly Uint8Array[];
  readonly bodyBytes: number;
}

/** What Arrow recommends, so that a reader can use the buffers where they lie. */
const alignBytes = 64;
const padding = new Uint8Array(alignBytes);

export function recordBatch(rows: number, arrays: readonly ArrowArray[]): ArrowMessage {
  const nodes: number[] = [];
  const buffers: number[] = [];
  const body: Uint8Array[] = [];
  let bodyBytes = 0;
  const add = ({ length, nullCount, buffers: own, children }: ArrowArray) => {
    nodes.push(length, nullCount);
    for (const buffer of own) {
      buffers.push(bodyBytes, buffer.byteLength);
      if (buffer.byteLength === 0) continue;
      const rest = -buffer.byteLength & (alignBytes - 1);
      body.push(buffer);
      if (rest > 0) body.push(padding.subarray(0, rest));
      bodyBytes += buffer.byteLength + rest;
    }
    children.forEach(add);
  };
  arrays.forEach(add);
  return { metadata: recordBatchMessage(rows, nodes, buffers, bodyBytes), body, bodyBytes };
}

/** Some rows as messages, as many as it takes for each to have a body of about `bytesMax` at most, or one row. */
export function* recordBatches(
  fields: readonly ArrowField[],
  types: readonly SqlType[],
  batch: SqlBatch,
  bytesMax: number,
): Generator<ArrowMessage> {
  for (const [start, rows] of ranges(batch, 0, batch.rows, bytesMax)) {
    yield recordBatch(
      rows,
      batch.columns.map((column, i) => arrayOf(fields[i]!, types[i]!, column, start, rows)),
    );
  }
}

function* ranges(batch: SqlBatch, start: number, rows: number, bytesMax: number): Generator<[number, number]> {
  const bytes = batch.columns.reduce((sum, column) => sum + bytesOf(column, start, rows), 0);
  if (bytes <= bytesMax || rows <= 1) {
    if (rows > 0) yield [start, rows];
    return;
  }
  // Bits are taken as they lie where a part begins with a byte.
  const half = rows > 16 ? (rows >> 4) << 3 : rows >> 1;
  yield* ranges(batch, start, half, bytesMax);
  yield* ranges(batch, start + half, rows - half, bytesMax);
}

function bytesOf(column: SqlColumn, start: number, rows: number): number {
  switch (column.layout) {
    case "null":
      return 0;
    case "bits":
      return rows >> 3;
    case "fixed":
      return rows * widthOf(column);
    case "bytes":
      return 4 * rows + (column.offsets[start + rows] ?? 0) - (column.offsets[start] ?? 0);
    case "list": {
      const from = column.offsets[start] ?? 0;
      return 4 * rows + bytesOf(column.items, from, (column.offsets[start + rows] ?? 0) - from);
    }
    case "struct":
      return column.fields.reduce((sum, field) => sum + bytesOf(field, start, rows), 0);
  }
}

function widthOf({ type, data }: Extract<SqlColumn, { layout: "fixed" }>): number {
  switch (type.kind) {
    case "decimal":
    case "int128":
    case "interval":
      return 16;
    case "uint128":
      return 32;
    case "uuid":
      return 40;
    default:
      return data.BYTES_PER_ELEMENT;
  }
}
