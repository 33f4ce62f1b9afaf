import type { SqlParameter, SqlValue } from "../../../engine/sql/sql.ts";
import type { SqlType } from "../../../engine/sql/type.ts";
import { hasBit } from "./array.ts";
import { ArrowFormatError, type BatchHeader } from "./schema-reader.ts";
import { dateText, decimalText, halfFloat, intervalText, littleEndian, timestampText, timeText } from "./text.ts";
import type { ArrowField, ArrowType, TimeUnit } from "./type.ts";

/** The rows of a client's record batch as parameters. Nothing in it is trusted: lengths and offsets are checked. */
export interface ReadRoom {
  readonly rowsMax: number;
  /** Values that may still be read, over all rows and batches, the items of lists included. */
  readonly values: { left: number };
}

export function readRows(
  fields: readonly ArrowField[],
  header: BatchHeader,
  body: Uint8Array,
  { rowsMax, values }: ReadRoom,
): SqlParameter[][] {
  const { rows } = header;
  if (!(rows >= 0 && rows <= rowsMax)) throw new ArrowFormatError(`more than ${rowsMax} rows`);
  const cursor = new Cursor(header, body, values);
  const columns = fields.map((field) => readColumn(field, cursor));
  const types = fields.map(sqlTypeOf);
  return Array.from({ length: rows }, (_, row) =>
    columns.map((column, i) => {
      const value = column(row);
      const type = types[i];
      return type === undefined ? { value } : { value, type };
    }),
  );
}

type Column = (row: number) => SqlValue;

class Cursor {
  readonly #header: BatchHeader;
  readonly #body: Uint8Array;
  #node = 0;
  #buffer = 0;
  readonly #values: { left: number };
  #bytes: number;

  constructor(header: BatchHeader, body: Uint8Array, values: { left: number }) {
    this.#header = header;
    this.#body = body;
    this.#values = values;
    this.#bytes = body.byteLength;
  }

  node(): number {
    const node = this.#header.nodes[this.#node++];
    if (node === undefined || node[0] < 0) throw new ArrowFormatError("a record batch lacks a column");
    return node[0];
  }

  buffer(): Uint8Array {
    const buffer = this.#header.buffers[this.#buffer++];
    if (buffer === undefined) throw new ArrowFormatError("a record batch lacks a buffer");
    const [offset, length] = buffer;
    if (offset < 0 || length < 0 || offset + length > this.#body.byteLength) {
      throw new ArrowFormatError("a buffer lies outside its record batch");
    }
    return this.#body.subarray(offset, offset + length);
  }

  /** Counts values read, so that a small message can't become a large one. */
  take(count: number): void {
    this.#values.left -= count;
    if (this.#values.left < 0) throw new ArrowFormatError("too many values");
  }

  /** Counts bytes copied: columns that share a buffer would become more than was sent. */
  copy(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes < 0) throw new ArrowFormatError("its values are more bytes than it has");
  }
}

function readColumn(field: ArrowField, cursor: Cursor): Column {
  const length = cursor.node();
  if (field.type.kind === "null") return () => null;
  const validity = cursor.buffer();
  if (validity.byteLength > 0 && validity.byteLength < Math.ceil(length / 8)) throw tooShort();
  const value = readValues(field, length, cursor);
  return (row) => {
    if (row >= length) throw tooShort();
    cursor.take(1);
    return validity.byteLength === 0 || hasBit(validity, row) ? value(row) : null;
  };
}

function tooShort(): ArrowFormatError {
  return new ArrowFormatError("a column is shorter than it says");
}

function readValues(field: ArrowField, length: number, cursor: Cursor): Column {
  const { type } = field;
  switch (type.kind) {
    case "bool": {
      const bits = cursor.buffer();
      if (bits.byteLength < Math.ceil(length / 8)) throw tooShort();
      return (row) => hasBit(bits, row);
    }
    case "utf8":
    case "largeUtf8": {
      const bytes = bytesColumn(cursor, length, type.kind === "largeUtf8");
      return (row) => textOf(bytes(row));
    }
    case "binary":
    case "largeBinary":
      return bytesColumn(cursor, length, type.kind === "largeBinary");
    case "list":
    case "largeList": {
      const range = offsetsOf(cursor, length, type.kind === "largeList");
      const item = readColumn(field.children[0]!, cursor);
      return (row) => {
        const [from, to] = range(row);
        return itemsOf(item, from, to - from, cursor);
      };
    }
    case "fixedList": {
      const { size } = type;
      const item = readColumn(field.children[0]!, cursor);
      return (row) => itemsOf(item, row * size, size, cursor);
    }
    case "struct": {
      const members = field.children.map((child) => [child.name, readColumn(child, cursor)] as const);
      return (row) => Object.fromEntries(members.map(([name, column]) => [name, column(row)]));
    }
    default:
      return fixedColumn(type, cursor.buffer(), length);
  }
}

function itemsOf(item: Column, from: number, count: number, cursor: Cursor): SqlValue[] {
  cursor.take(count);
  return Array.from({ length: count }, (_, i) => item(from + i));
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new ArrowFormatError("a text is not UTF-8");
  }
}

function bytesColumn(cursor: Cursor, length: number, large: boolean): (row: number) => Uint8Array {
  const range = offsetsOf(cursor, length, large);
  const data = cursor.buffer();
  return (row) => {
    const [from, to] = range(row);
    if (to > data.byteLength) throw tooShort();
    cursor.copy(to - from);
    return data.slice(from, to);
  };
}

function offsetsOf(cursor: Cursor, length: number, large: boolean): (row: number) => [number, number] {
  const width = large ? 8 : 4;
  const view = viewOf(cursor.buffer());
  if (length > 0 && view.byteLength < width * (length + 1)) throw tooShort();
  const at = (i: number) => (large ? Number(view.getBigInt64(8 * i, true)) : view.getInt32(4 * i, true));
  return (row) => {
    const [from, to] = [at(row), at(row + 1)];
    if (from < 0 || to < from) throw new ArrowFormatError("the offsets of a column go backwards");
    return [from, to];
  };
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

type FixedType = Extract<
  ArrowType,
  { kind: "int" | "float" | "decimal" | "date" | "time" | "timestamp" | "interval" | "fixedBinary" }
>;

function fixedColumn(type: ArrowType, data: Uint8Array, length: number): Column {
  const fixed = type as FixedType;
  const width = fixedWidth(fixed);
  if (data.byteLength < width * length) throw tooShort();
  const view = viewOf(data);
  switch (fixed.kind) {
    case "int":
      return intColumn(view, fixed.bits, fixed.signed);
    case "float":
      if (fixed.bits === 16) return (row) => halfFloat(view.getUint16(2 * row, true));
      return fixed.bits === 32 ? (row) => view.getFloat32(4 * row, true) : (row) => view.getFloat64(8 * row, true);
    case "decimal":
      return (row) => decimalText(littleEndian(view, width * row, width), fixed.scale);
    case "date":
      if (fixed.unit === "day") return (row) => dateText(view.getInt32(4 * row, true));
      return (row) => dateText(Number(view.getBigInt64(8 * row, true) / 86_400_000n));
    case "time":
      return (row) => timeText(wholeOf(view, width, row) * nanosPer[fixed.unit]);
    case "timestamp":
      return (row) => timestampText(wholeOf(view, 8, row) * nanosPer[fixed.unit], fixed.zone !== undefined);
    case "interval":
      return (row) =>
        intervalText(view.getInt32(16 * row, true), view.getInt32(16 * row + 4, true), wholeOf(view, 8, 2 * row + 1));
    case "fixedBinary":
      return (row) => data.slice(width * row, width * (row + 1));
  }
}

const nanosPer: Readonly<Record<TimeUnit, bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1_000n, ns: 1n };

function wholeOf(view: DataView, width: number, i: number): bigint {
  return width === 4 ? BigInt(view.getInt32(4 * i, true)) : view.getBigInt64(8 * i, true);
}

function fixedWidth(type: FixedType): number {
  switch (type.kind) {
    case "int":
    case "float":
    case "decimal":
      return type.bits / 8;
    case "date":
      return type.unit === "day" ? 4 : 8;
    case "time":
      return type.unit === "s" || type.unit === "ms" ? 4 : 8;
    case "timestamp":
      return 8;
    case "interval":
      return 16;
    case "fixedBinary":
      return type.size;
  }
}

function intColumn(view: DataView, bits: 8 | 16 | 32 | 64, signed: boolean): Column {
  switch (bits) {
    case 8:
      return signed ? (row) => view.getInt8(row) : (row) => view.getUint8(row);
    case 16:
      return signed ? (row) => view.getInt16(2 * row, true) : (row) => view.getUint16(2 * row, true);
    case 32:
      return signed ? (row) => view.getInt32(4 * row, true) : (row) => view.getUint32(4 * row, true);
    case 64:
      return signed ? (row) => view.getBigInt64(8 * row, true) : (row) => view.getBigUint64(8 * row, true);
  }
}

/** The type that a parameter is read as; text is left to the statement, which knows what it compares it with. */
function sqlTypeOf(field: ArrowField): SqlType | undefined {
  const { type } = field;
  switch (type.kind) {
    case "bool":
      return { kind: "boolean" };
    case "int":
      return { kind: `${type.signed ? "int" : "uint"}${type.bits}` };
    case "float":
      return { kind: type.bits === 64 ? "float64" : "float32" };
    case "decimal":
      return type.width <= 38 ? { kind: "decimal", width: type.width, scale: type.scale } : undefined;
    case "date":
      return { kind: "date" };
    case "time":
      return { kind: "time" };
    case "timestamp":
      return { kind: type.zone === undefined ? "timestamp" : "timestamptz" };
    case "interval":
      return { kind: "interval" };
    case "binary":
    case "largeBinary":
    case "fixedBinary":
      return { kind: "bytes" };
    case "list":
    case "largeList":
    case "fixedList": {
      const child = field.children[0]!;
      const isText = child.type.kind === "utf8" || child.type.kind === "largeUtf8";
      const item = isText ? ({ kind: "text" } as const) : sqlTypeOf(child);
      return item && { kind: "list", item, ...(type.kind === "fixedList" ? { size: type.size } : {}) };
    }
    default:
      return undefined;
  }
}
