import type { SqlColumn } from "../../engine/sql/batch.ts";
import { intervalText } from "../../engine/sql/time-text.ts";
import { isValid, jsonValue, readValue } from "../../engine/sql/value.ts";
import { clockOf, clockText, dateText, dayOf, splitInstant } from "./calendar.ts";

/** One value of a column, as the texts that both protocols need. */

export type FixedColumn = Extract<SqlColumn, { layout: "fixed" }>;

/** MySQL has no infinite numbers and no NaN: they are NULL, as its own division by zero is. */
export function isNull(column: SqlColumn, row: number): boolean {
  if (column.layout === "null" || !isValid(column.validity, row)) return true;
  const isFloat = column.type.kind === "float64" || column.type.kind === "float32";
  return isFloat && column.layout === "fixed" && !Number.isFinite(column.data[row] as number);
}

/** Whether a value may be NULL at all. */
export function isNullable(column: SqlColumn): boolean {
  if (column.layout === "null" || column.validity !== undefined) return true;
  return column.type.kind === "float64" || column.type.kind === "float32";
}

export function intervalTextAt({ data }: FixedColumn, row: number): string {
  const [months, days, micros] = (data as BigInt64Array).subarray(3 * row, 3 * row + 3);
  return intervalText(Number(months), Number(days), micros!);
}

export function dateTextAt({ data }: FixedColumn, row: number): string {
  return dateText(dayOf((data as Int32Array)[row]!));
}

export function timeTextAt({ data }: FixedColumn, row: number): string {
  return clockText(clockOf(Number((data as BigInt64Array)[row]!)));
}

/** `offsetMicros` is the session's distance from UTC, which only instants are told with. */
export function timestampTextAt({ data }: FixedColumn, row: number, offsetMicros: bigint): string {
  const { days, micros } = splitInstant((data as BigInt64Array)[row]! + offsetMicros);
  return `${dateText(dayOf(days))} ${clockText(clockOf(micros))}`;
}

/** A list, struct or map as JSON, in the form that REST has it. */
export function jsonAt(column: SqlColumn, row: number): string {
  return JSON.stringify(jsonValue(readValue(column, row), column.type));
}
