import type { FixedData, SqlBatch, SqlColumn, Validity } from "../../batch.ts";
import type { ColumnType } from "../duck-type.ts";
import { type Chunk, lib, Type, type Vector } from "../duckdb.ts";
import { withKnownNumbers } from "./json-numbers.ts";
import { asText, bigText, bitText, readBytes, timeZoneText } from "./read-bytes.ts";
import { copyOf, isValid, validityOf } from "./vector-memory.ts";

/** Rows of a chunk as columns of their own memory. */
export function readChunk(types: readonly ColumnType[], chunk: Chunk): SqlBatch {
  return { rows: chunk.rows, columns: types.map((type, i) => readVector(chunk.vector(i), type, chunk.rows)) };
}

function readVector(vector: Vector, column: ColumnType, rows: number): SqlColumn {
  const { type, id } = column;
  if (id === Type.SQLNULL) return { layout: "null", type };
  const validity = validityOf(vector, rows);
  switch (id) {
    case Type.BOOLEAN:
      return { layout: "bits", type, validity, data: bitsOf(lib.vector_get_data(vector, rows), rows) };
    case Type.VARCHAR:
    case Type.BLOB: {
      const bytes = readBytes(vector, validity, rows);
      return { layout: "bytes", type, validity, ...(type.kind === "json" ? withKnownNumbers(bytes) : bytes) };
    }
    case Type.BIT:
    case Type.BIGNUM:
      return {
        layout: "bytes",
        type,
        validity,
        ...asText(vector, validity, rows, id === Type.BIT ? bitText : bigText),
      };
    case Type.TIME_TZ:
      return { layout: "bytes", type, validity, ...timeZoneText(vector, validity, rows) };
    case Type.LIST:
    case Type.MAP:
      return readList(vector, column, validity, rows);
    case Type.ARRAY: {
      const size = type.kind === "list" ? (type.size ?? 0) : 0;
      const offsets = Int32Array.from({ length: rows + 1 }, (_, i) => i * size);
      const items = readVector(lib.array_vector_get_child(vector), column.children[0]!, rows * size);
      return { layout: "list", type, validity, offsets, items };
    }
    case Type.STRUCT: {
      const fields = column.children.map((child, i) => readVector(lib.struct_vector_get_child(vector, i), child, rows));
      return { layout: "struct", type, validity, fields };
    }
    default:
      return { layout: "fixed", type, validity, data: readFixed(vector, column, rows) };
  }
}

function bitsOf(bytes: Uint8Array, rows: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(rows / 8));
  for (let i = 0; i < rows; i++) if (bytes[i] !== 0) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}

function readFixed(vector: Vector, { id, stored }: ColumnType, rows: number): FixedData {
  switch (id) {
    case Type.TINYINT:
      return new Int8Array(copyOf(vector, rows));
    case Type.SMALLINT:
      return new Int16Array(copyOf(vector, rows * 2));
    case Type.INTEGER:
    case Type.DATE:
      return new Int32Array(copyOf(vector, rows * 4));
    case Type.UTINYINT:
      return new Uint8Array(copyOf(vector, rows));
    case Type.USMALLINT:
      return new Uint16Array(copyOf(vector, rows * 2));
    case Type.UINTEGER:
      return new Uint32Array(copyOf(vector, rows * 4));
    case Type.UBIGINT:
      return new BigUint64Array(copyOf(vector, rows * 8));
    case Type.FLOAT:
      return new Float32Array(copyOf(vector, rows * 4));
    case Type.DOUBLE:
      return new Float64Array(copyOf(vector, rows * 8));
    case Type.HUGEINT:
      return new BigInt64Array(copyOf(vector, rows * 16));
    case Type.UHUGEINT:
      return new BigUint64Array(copyOf(vector, rows * 16));
    case Type.UUID:
      return uuids(new Uint8Array(copyOf(vector, rows * 16)));
    case Type.INTERVAL:
      return intervals(new DataView(copyOf(vector, rows * 16)), rows);
    case Type.DECIMAL:
      return decimals(vector, stored!, rows);
    case Type.ENUM:
      if (stored === Type.UTINYINT) return new Uint8Array(copyOf(vector, rows));
      return stored === Type.USMALLINT
        ? new Uint16Array(copyOf(vector, rows * 2))
        : new Uint32Array(copyOf(vector, rows * 4));
    case Type.TIMESTAMP_S:
      return scaled(vector, rows, (value) => value * 1_000_000n);
    case Type.TIMESTAMP_MS:
      return scaled(vector, rows, (value) => value * 1_000n);
    case Type.TIMESTAMP_NS:
    case Type.TIME_NS:
      return scaled(vector, rows, (value) => value / 1_000n);
    default:
      return new BigInt64Array(copyOf(vector, rows * 8));
  }
}

function scaled(vector: Vector, rows: number, scale: (value: bigint) => bigint): BigInt64Array {
  return new BigInt64Array(copyOf(vector, rows * 8)).map(scale);
}

/** Kept as 128-bit numbers with the sign turned, so that they sort as their text does. */
function uuids(bytes: Uint8Array): Uint8Array {
  for (let at = 0; at < bytes.length; at += 16) {
    bytes.subarray(at, at + 16).reverse();
    bytes[at]! ^= 0x80;
  }
  return bytes;
}

function intervals(view: DataView, rows: number): BigInt64Array {
  const data = new BigInt64Array(rows * 3);
  for (let i = 0; i < rows; i++) {
    data[i * 3] = BigInt(view.getInt32(i * 16, true));
    data[i * 3 + 1] = BigInt(view.getInt32(i * 16 + 4, true));
    data[i * 3 + 2] = view.getBigInt64(i * 16 + 8, true);
  }
  return data;
}

function decimals(vector: Vector, stored: number, rows: number): BigInt64Array {
  if (stored === Type.HUGEINT) return new BigInt64Array(copyOf(vector, rows * 16));
  const narrow =
    stored === Type.SMALLINT
      ? new Int16Array(copyOf(vector, rows * 2))
      : stored === Type.INTEGER
        ? new Int32Array(copyOf(vector, rows * 4))
        : new BigInt64Array(copyOf(vector, rows * 8));
  const data = new BigInt64Array(rows * 2);
  for (let i = 0; i < rows; i++) {
    const value = BigInt(narrow[i]!);
    data[i * 2] = value;
    data[i * 2 + 1] = value < 0n ? -1n : 0n;
  }
  return data;
}

function readList(vector: Vector, column: ColumnType, validity: Validity, rows: number): SqlColumn {
  const entries = new BigUint64Array(copyOf(vector, rows * 16));
  const size = lib.list_vector_get_size(vector);
  const items = readVector(lib.list_vector_get_child(vector), column.children[0]!, size);
  const offsets = new Int32Array(rows + 1);
  const wanted: number[] = [];
  let inOrder = true;
  for (let i = 0; i < rows; i++) {
    const there = isValid(validity, i);
    const from = there ? Number(entries[i * 2]) : 0;
    const length = there ? Number(entries[i * 2 + 1]) : 0;
    if (length > 0 && from !== offsets[i]) inOrder = false;
    offsets[i + 1] = offsets[i]! + length;
    for (let k = 0; k < length; k++) wanted.push(from + k);
  }
  const { type } = column;
  // Lists may share items or leave some out; then they are copied.
  const laid = inOrder && offsets[rows] === size ? items : takeRows(items, wanted);
  return { layout: "list", type, validity, offsets, items: laid };
}

function takeBits(bits: Uint8Array, rows: readonly number[]): Uint8Array {
  const copy = new Uint8Array(Math.ceil(rows.length / 8));
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    if (((bits[row >> 3]! >> (row & 7)) & 1) === 1) copy[i >> 3]! |= 1 << (i & 7);
  }
  return copy;
}

/** Items that one value takes. */
export function widthOf(column: Extract<SqlColumn, { layout: "fixed" }>): number {
  switch (column.type.kind) {
    case "decimal":
    case "int128":
    case "uint128":
      return 2;
    case "uuid":
      return 16;
    case "interval":
      return 3;
    default:
      return 1;
  }
}

/** Some rows of a column, in memory of their own. */
export function takeRows(column: SqlColumn, rows: readonly number[]): SqlColumn {
  if (column.layout === "null") return column;
  const validity = column.validity === undefined ? undefined : takeBits(column.validity, rows);
  switch (column.layout) {
    case "bits":
      return { ...column, validity, data: takeBits(column.data, rows) };
    case "fixed": {
      const width = widthOf(column);
      const Made = column.data.constructor as new (length: number) => FixedData;
      const data = new Made(rows.length * width);
      for (let i = 0; i < rows.length; i++) {
        for (let k = 0; k < width; k++) data[i * width + k] = column.data[rows[i]! * width + k]!;
      }
      return { ...column, validity, data };
    }
    case "bytes": {
      const offsets = new Int32Array(rows.length + 1);
      rows.forEach((row, i) => {
        offsets[i + 1] = offsets[i]! + column.offsets[row + 1]! - column.offsets[row]!;
      });
      const data = new Uint8Array(offsets[rows.length]!);
      rows.forEach((row, i) => {
        data.set(column.data.subarray(column.offsets[row]!, column.offsets[row + 1]!), offsets[i]!);
      });
      return { ...column, validity, offsets, data };
    }
    case "list": {
      const offsets = new Int32Array(rows.length + 1);
      const wanted: number[] = [];
      rows.forEach((row, i) => {
        for (let k = column.offsets[row]!; k < column.offsets[row + 1]!; k++) wanted.push(k);
        offsets[i + 1] = wanted.length;
      });
      return { ...column, validity, offsets, items: takeRows(column.items, wanted) };
    }
    case "struct":
      return { ...column, validity, fields: column.fields.map((field) => takeRows(field, rows)) };
  }
}
