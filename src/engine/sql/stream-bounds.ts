import { parseDate } from "../schema/date.ts";
import type { Comparison, Condition, Constant } from "./retrieval.ts";
import type { SqlParameter } from "./sql.ts";

/** Which records of a stream a statement can need. SQL checks its conditions again: these may let more through. */
export interface StreamBounds {
  readonly hasPartition: (partition: number) => boolean;
  readonly fromOffset: number;
  /** The end, not included. */
  readonly toOffset: number;
  readonly fromTimestampMs: number | undefined;
  /** Nothing is left that only the statement itself can check. */
  readonly isWhole: boolean;
}

export function streamBounds(conditions: readonly Condition[], params: readonly SqlParameter[]): StreamBounds {
  const tests: ((partition: number) => boolean)[] = [];
  let fromOffset = 0;
  let toOffset = Number.MAX_SAFE_INTEGER;
  let fromTimestampMs: number | undefined;
  let isWhole = true;
  const numberOf = (constant: Constant): number | undefined => {
    const value = constant.kind === "value" ? constant.value : params[constant.index]?.value;
    const number = typeof value === "bigint" ? Number(value) : value;
    return typeof number === "number" && Number.isFinite(number) ? number : undefined;
  };
  const take = (condition: Condition): boolean => {
    if (condition.op === "and") return condition.items.map(take).every(Boolean);
    if (condition.op === "in" && condition.column.toLowerCase() === "partition") {
      const values = condition.values.map(numberOf);
      tests.push((partition) => values.includes(undefined) || values.includes(partition));
      return !values.includes(undefined);
    }
    if (condition.op !== "compare") return false;
    const { by, value } = condition;
    switch (condition.column.toLowerCase()) {
      case "partition": {
        const number = numberOf(value);
        if (number === undefined) return false;
        tests.push((partition) => holds(partition, by, number));
        return true;
      }
      case "offset": {
        const number = numberOf(value);
        if (number === undefined || !Number.isInteger(number)) return false;
        if (by === "=" || by === ">" || by === ">=")
          fromOffset = Math.max(fromOffset, by === ">" ? number + 1 : number);
        if (by === "=" || by === "<" || by === "<=") toOffset = Math.min(toOffset, by === "<" ? number : number + 1);
        return by !== "<>";
      }
      case "timestamp": {
        const ms = timestampOf(value, params);
        if (ms !== undefined && (by === "=" || by === ">" || by === ">=")) {
          fromTimestampMs = Math.max(fromTimestampMs ?? ms, ms);
        }
        return false;
      }
      default:
        return false;
    }
  };
  for (const condition of conditions) if (!take(condition)) isWhole = false;
  const hasPartition = (partition: number) => tests.every((test) => test(partition));
  return { hasPartition, fromOffset, toOffset, fromTimestampMs, isWhole };
}

function holds(left: number, by: Comparison, right: number): boolean {
  switch (by) {
    case "=":
      return left === right;
    case "<>":
      return left !== right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
  }
}

/** Rounded down, so that no record is passed over. */
function timestampOf(constant: Constant, params: readonly SqlParameter[]): number | undefined {
  const value = constant.kind === "value" ? constant.value : params[constant.index]?.value;
  return typeof value === "string" ? dateOf(value) : undefined;
}

/** Dates as SQL writes them, in UTC; to the millisecond. */
export function dateOf(text: string): number | undefined {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d{1,3})?\d*\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?)?$/.exec(
      text.trim(),
    );
  if (match === null) return undefined;
  const [, day, minutes, seconds = ":00", fraction = "", zone = "Z"] = match;
  if (minutes === undefined) return parseDate(day);
  const offset = /^[zZ]$/.test(zone) ? "Z" : `${zone.slice(0, 3)}:${zone.length > 3 ? zone.slice(-2) : "00"}`;
  return parseDate(`${day}T${minutes}${seconds}${fraction}${offset}`);
}
