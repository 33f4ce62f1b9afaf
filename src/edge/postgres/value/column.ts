import type { FixedData, SqlColumn } from "../../../engine/sql/batch.ts";

/** Reading single values out of columns. */

export function isNull(column: SqlColumn, row: number): boolean {
  if (column.layout === "null") return true;
  const { validity } = column;
  return validity !== undefined && ((validity[row >> 3]! >> (row & 7)) & 1) === 0;
}

export function bitAt(data: Uint8Array, row: number): boolean {
  return ((data[row >> 3]! >> (row & 7)) & 1) === 1;
}

/** A value of two items, the low one first. */
export function wideAt(data: FixedData, row: number, isSigned: boolean): bigint {
  const low = BigInt.asUintN(64, BigInt(data[2 * row]!));
  const high = BigInt(data[2 * row + 1]!);
  return ((isSigned ? BigInt.asIntN(64, high) : BigInt.asUintN(64, high)) << 64n) | low;
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function uuidAt(data: FixedData, row: number): string {
  let text = "";
  for (let i = 0; i < 16; i++) {
    text += hex[Number(data[16 * row + i])];
    if (i === 3 || i === 5 || i === 7 || i === 9) text += "-";
  }
  return text;
}
