import type { SqlColumn } from "../../engine/sql/batch.ts";
import { civil, intervalText } from "../../engine/sql/time-text.ts";
import { isValid, jsonText } from "../../engine/sql/value.ts";
import { clockOf, clockText, dateText, isKnownDay, splitInstant } from "./calendar.ts";

/** One value of a column, as the texts that both protocols need. */

export type FixedColumn = Extract<SqlColumn, { layout: "fixed" }>;

/** Numbers and days that MySQL has not are NULL, as they are where its own functions make them. */
const partlyKnown: ReadonlySet<string> = new Set(["float64", "float32", "date", "timestamp", "timestamptz"]);

export function isNull(column: SqlColumn, row: number, offsetMicros: bigint): boolean {
  if (column.layout === "null" || !isValid(column.validity, row)) return true;
  if (column.layout !== "fixed") return false;
  switch (column.type.kind) {
    case "float64":
    case "float32":
      return !Number.isFinite(column.data[row] as number);
    case "date":
      return !isKnownDay(column.data[row] as number);
    case "timestamp":
      return !isKnownDay(instantAt(column, row, 0n).days);
    case "timestamptz":
      return !isKnownDay(instantAt(column, row, offsetMicros).days);
    default:
      return false;
  }
}

/** Whether a value may be NULL at all. */
export function isNullable(column: SqlColumn): boolean {
  return column.layout === "null" || column.validity !== undefined || partlyKnown.has(column.type.kind);
}

/** `offsetMicros` is the session's distance from UTC; it applies to instants only. */
export function instantAt({ data }: FixedColumn, row: number, offsetMicros: bigint) {
  return splitInstant((data as BigInt64Array)[row]! + offsetMicros);
}

export function intervalTextAt({ data }: FixedColumn, row: number): string {
  const [months, days, micros] = (data as BigInt64Array).subarray(3 * row, 3 * row + 3);
  return intervalText(Number(months), Number(days), micros!);
}

export function dateTextAt({ data }: FixedColumn, row: number): string {
  return dateText(civil((data as Int32Array)[row]!));
}

export function timeTextAt({ data }: FixedColumn, row: number): string {
  return clockText(clockOf(Number((data as BigInt64Array)[row]!)));
}

export function timestampTextAt(column: FixedColumn, row: number, offsetMicros: bigint): string {
  const { days, micros } = instantAt(column, row, offsetMicros);
  return `${dateText(civil(days))} ${clockText(clockOf(micros))}`;
}

/** A list, struct or map as JSON, in the form that REST has it. */
export function jsonAt(column: SqlColumn, row: number): string {
  return jsonText(column, row);
}
