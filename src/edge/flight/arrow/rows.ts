import type { ArrowArray } from "./array.ts";
import type { ArrowField } from "./type.ts";

/** Columns of few values that are made here and not by the engine. */
export type Cell = null | string | number | boolean | Uint8Array | readonly string[];

export function columnsOf(fields: readonly ArrowField[], rows: readonly (readonly Cell[])[]): ArrowArray[] {
  return fields.map((field, i) =>
    cellsArray(
      field,
      rows.map((row) => row[i] ?? null),
    ),
  );
}

export function cellsArray(field: ArrowField, cells: readonly Cell[]): ArrowArray {
  const length = cells.length;
  const nullCount = cells.filter((cell) => cell === null).length;
  const validity = nullCount === 0 ? new Uint8Array(0) : bitsOf(cells.map((cell) => cell !== null));
  const array = (buffers: Uint8Array[], children: ArrowArray[] = []): ArrowArray => ({
    length,
    nullCount,
    buffers: [validity, ...buffers],
    children,
  });
  switch (field.type.kind) {
    case "bool":
      return array([bitsOf(cells.map((cell) => cell === true))]);
    case "int":
      return array([
        intsOf(
          cells.map((cell) => (typeof cell === "number" ? cell : 0)),
          field.type.bits,
        ),
      ]);
    case "utf8":
    case "binary": {
      const values = cells.map((cell) => Buffer.from((cell ?? "") as string | Uint8Array));
      return array([offsetsOf(values.map((value) => value.byteLength)), Buffer.concat(values)]);
    }
    case "list": {
      const lists = cells.map((cell) => (cell ?? []) as readonly string[]);
      return array([offsetsOf(lists.map((list) => list.length))], [cellsArray(field.children[0]!, lists.flat())]);
    }
    default:
      throw new Error(`no cells of ${field.type.kind}`);
  }
}

function bitsOf(values: readonly boolean[]): Uint8Array {
  const bits = new Uint8Array((values.length + 7) >> 3);
  for (const [i, value] of values.entries()) if (value) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}

export function intsOf(values: readonly number[], bits: number): Uint8Array {
  if (bits === 8) return Uint8Array.from(values);
  const whole = bits === 64 ? BigInt64Array.from(values, BigInt) : Int32Array.from(values);
  return new Uint8Array(whole.buffer);
}

function offsetsOf(lengths: readonly number[]): Uint8Array {
  const offsets = new Int32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) offsets[i + 1] = offsets[i]! + length;
  return new Uint8Array(offsets.buffer);
}
