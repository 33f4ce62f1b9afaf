import type { SqlType } from "./type.ts";

/**
 * Some rows of a result, as columns in the memory layout of Arrow: typed arrays throughout, so that a batch crosses
 * threads without a copy and a Flight reply is made of it as it is.
 */
export interface SqlBatch {
  readonly rows: number;
  readonly columns: readonly SqlColumn[];
}

/** Bit `i` (least significant first) tells whether value `i` is there; absent when all are. */
export type Validity = Uint8Array | undefined;

export type SqlColumn =
  /** Every value is NULL. */
  | { readonly layout: "null"; readonly type: SqlType }
  /** One bit a value. */
  | { readonly layout: "bits"; readonly type: SqlType; readonly validity: Validity; readonly data: Uint8Array }
  /**
   * One item a value. Dates are days (Int32Array), times and timestamps microseconds (BigInt64Array), decimals scaled
   * integers in 16 bytes (two items, the low one first), as are 128-bit integers and UUIDs (in the order of their text,
   * most significant bit first, in a Uint8Array of 16 a value); an interval is three items: months, days and
   * microseconds (BigInt64Array); an enum is the index of its value.
   */
  | { readonly layout: "fixed"; readonly type: SqlType; readonly validity: Validity; readonly data: FixedData }
  /** Value `i` is `data` from `offsets[i]` up to `offsets[i + 1]`; text is UTF-8. */
  | {
      readonly layout: "bytes";
      readonly type: SqlType;
      readonly validity: Validity;
      readonly offsets: Int32Array;
      readonly data: Uint8Array;
    }
  /** Value `i` is the items from `offsets[i]` up to `offsets[i + 1]`; a map's items are structs of `key` and `value`. */
  | {
      readonly layout: "list";
      readonly type: SqlType;
      readonly validity: Validity;
      readonly offsets: Int32Array;
      readonly items: SqlColumn;
    }
  | {
      readonly layout: "struct";
      readonly type: SqlType;
      readonly validity: Validity;
      readonly fields: readonly SqlColumn[];
    };

export type FixedData =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** What of a batch goes over to another thread instead of being copied. */
function buffersOf(batch: SqlBatch): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  const add = (array: { readonly buffer: ArrayBufferLike } | undefined) => {
    if (array !== undefined && array.buffer.byteLength > 0) buffers.add(array.buffer as ArrayBuffer);
  };
  const visit = (column: SqlColumn): void => {
    if (column.layout === "null") return;
    add(column.validity);
    switch (column.layout) {
      case "bits":
      case "fixed":
        add(column.data);
        break;
      case "bytes":
        add(column.offsets);
        add(column.data);
        break;
      case "list":
        add(column.offsets);
        visit(column.items);
        break;
      case "struct":
        column.fields.forEach(visit);
    }
  };
  batch.columns.forEach(visit);
  return [...buffers];
}

/** The memory that a batch holds. */
export function batchBytes(batch: SqlBatch): number {
  return buffersOf(batch).reduce((sum, { byteLength }) => sum + byteLength, 0);
}
