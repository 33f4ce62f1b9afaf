import type { SqlColumn, Validity } from "../../../engine/sql/batch.ts";
import type { SqlType } from "../../../engine/sql/type.ts";
import { enumTexts, intervals, uuidTexts, widened } from "./convert.ts";
import type { ArrowField, ArrowType } from "./type.ts";

/** A column in the form of IPC: its buffers in their order, then its children. */
export interface ArrowArray {
  readonly length: number;
  readonly nullCount: number;
  readonly buffers: readonly Uint8Array[];
  readonly children: readonly ArrowArray[];
}

const none = new Uint8Array(0);

export function viewOf({ buffer, byteOffset, byteLength }: ArrayBufferView, start = 0, end = byteLength): Uint8Array {
  return new Uint8Array(buffer, byteOffset + start, end - start);
}

/**
 * The rows of a column from `start`. Its memory is used as it lies, but where Arrow has another form for a type: UUIDs,
 * enums, intervals and the widest integers are written anew, and offsets that do not begin at 0.
 */
export function arrayOf(
  field: ArrowField,
  type: SqlType,
  column: SqlColumn,
  start: number,
  length: number,
): ArrowArray {
  switch (column.layout) {
    case "null":
      return nulls(field, length);
    case "bits":
      return leaf(length, column.validity, start, [bitsOf(column.data, start, length)]);
    case "fixed":
      return fixedArray(type, column, start, length);
    case "bytes": {
      const offsets = rebased(column.offsets, start, length);
      const from = column.offsets[start] ?? 0;
      return leaf(length, column.validity, start, [
        viewOf(offsets),
        viewOf(column.data, from, from + offsets[length]!),
      ]);
    }
    case "list":
      return listArray(field, type, column, start, length);
    case "struct": {
      const fields = type.kind === "struct" ? type.fields.map((each) => each.type) : entryTypes(type);
      const children = column.fields.map((each, i) => arrayOf(field.children[i]!, fields[i]!, each, start, length));
      return { ...leaf(length, column.validity, start, []), children };
    }
  }
}

type FixedColumn = Extract<SqlColumn, { layout: "fixed" }>;
type ListColumn = Extract<SqlColumn, { layout: "list" }>;

function fixedArray(type: SqlType, column: FixedColumn, start: number, length: number): ArrowArray {
  const { data, validity } = column;
  switch (type.kind) {
    case "uuid":
      return leaf(length, validity, start, uuidTexts(viewOf(data), start, length));
    case "enum":
      return leaf(length, validity, start, enumTexts(type.values, data, start, length));
    case "interval":
      return leaf(length, validity, start, [intervals(data as BigInt64Array, start, length)]);
    case "uint128":
      return leaf(length, validity, start, [widened(viewOf(data), start, length)]);
    default: {
      const width = type.kind === "decimal" || type.kind === "int128" ? 16 : data.BYTES_PER_ELEMENT;
      return leaf(length, validity, start, [viewOf(data, start * width, (start + length) * width)]);
    }
  }
}

function listArray(field: ArrowField, type: SqlType, column: ListColumn, start: number, length: number): ArrowArray {
  const { offsets, items, validity } = column;
  const from = offsets[start] ?? 0;
  const count = (offsets[start + length] ?? 0) - from;
  const itemField = field.children[0]!;
  // The items of a map are structs of `key` and `value`, whose types the map itself holds.
  const itemType = type.kind === "list" ? type.item : type;
  if (field.type.kind === "fixedList") {
    const { size } = field.type;
    const child =
      count === size * length
        ? arrayOf(itemField, itemType, items, from, count)
        : spread(itemField, items, offsets.subarray(start, start + length + 1), size);
    return { ...leaf(length, validity, start, []), children: [child] };
  }
  const child = arrayOf(itemField, itemType, items, from, count);
  return { ...leaf(length, validity, start, [viewOf(rebased(offsets, start, length))]), children: [child] };
}

function entryTypes(type: SqlType): SqlType[] {
  return type.kind === "map" ? [type.key, type.value] : [];
}

/** Items with room left for the lists that are NULL. */
function spread(field: ArrowField, items: SqlColumn, offsets: Int32Array, size: number): ArrowArray {
  const rows = offsets.length - 1;
  if (items.layout !== "fixed") return nulls(field, rows * size);
  const width = items.data.BYTES_PER_ELEMENT;
  const from = viewOf(items.data);
  const data = new Uint8Array(rows * size * width);
  const validity = items.validity && new Uint8Array(Math.ceil((rows * size) / 8)).fill(0xff);
  for (let row = 0; row < rows; row++) {
    const [begin, end] = [offsets[row]!, offsets[row + 1]!];
    data.set(from.subarray(begin * width, end * width), row * size * width);
    for (let i = begin; validity !== undefined && i < end; i++) {
      if (hasBit(items.validity!, i)) continue;
      const to = row * size + i - begin;
      validity[to >> 3]! &= ~(1 << (to & 7));
    }
  }
  return leaf(rows * size, validity, 0, [data]);
}

function leaf(length: number, validity: Validity, start: number, buffers: readonly Uint8Array[]): ArrowArray {
  const bits = validity === undefined ? none : bitsOf(validity, start, length);
  const nullCount = validity === undefined ? 0 : length - countBits(bits, length);
  return { length, nullCount, buffers: [nullCount === 0 ? none : bits, ...buffers], children: [] };
}

/** Offsets that begin at 0. */
function rebased(offsets: Int32Array, start: number, length: number): Int32Array {
  if (offsets.length === 0) return new Int32Array(1);
  const part = offsets.subarray(start, start + length + 1);
  const base = part[0]!;
  return base === 0 ? part : part.map((each) => each - base);
}

export function hasBit(bits: Uint8Array, i: number): boolean {
  return ((bits[i >> 3]! >> (i & 7)) & 1) === 1;
}

function bitsOf(bits: Uint8Array, start: number, length: number): Uint8Array {
  const shift = start & 7;
  const first = start >> 3;
  const bytes = (length + 7) >> 3;
  if (shift === 0) return bits.subarray(first, first + bytes);
  const moved = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) {
    moved[i] = (bits[first + i]! >> shift) | ((bits[first + i + 1] ?? 0) << (8 - shift));
  }
  return moved;
}

const bitCounts = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

function countBits(bits: Uint8Array, length: number): number {
  const whole = length >> 3;
  let count = 0;
  for (let i = 0; i < whole; i++) count += bitCounts[bits[i]!]!;
  const rest = length & 7;
  return rest === 0 ? count : count + bitCounts[bits[whole]! & ((1 << rest) - 1)]!;
}

/** A column of nothing but NULL. */
export function nulls(field: ArrowField, length: number): ArrowArray {
  const { type, children } = field;
  if (type.kind === "null") return { length, nullCount: length, buffers: [], children: [] };
  const validity = new Uint8Array((length + 7) >> 3);
  const width = widthOf(type);
  const childLength = type.kind === "struct" ? length : type.kind === "fixedList" ? type.size * length : 0;
  return {
    length,
    nullCount: length,
    buffers: [validity, ...nullBuffers(type, length, width)],
    children: children.map((child) => nulls(child, childLength)),
  };
}

function nullBuffers(type: ArrowType, length: number, width: number): Uint8Array[] {
  switch (type.kind) {
    case "struct":
    case "fixedList":
      return [];
    case "list":
    case "map":
      return [new Uint8Array(4 * (length + 1))];
    case "utf8":
    case "binary":
      return [new Uint8Array(4 * (length + 1)), none];
    case "bool":
      return [new Uint8Array((length + 7) >> 3)];
    default:
      return [new Uint8Array(width * length)];
  }
}

/** Bytes of one value. */
function widthOf(type: ArrowType): number {
  switch (type.kind) {
    case "int":
    case "float":
    case "decimal":
      return type.bits / 8;
    case "date":
      return type.unit === "day" ? 4 : 8;
    case "interval":
      return 16;
    default:
      return 8;
  }
}
