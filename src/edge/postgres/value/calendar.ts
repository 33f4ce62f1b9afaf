import { dateText, timestampText } from "../../../engine/sql/time-text.ts";
import { timeText } from "../dialect/literals.ts";

/** Dates and times of Postgres's binary format, which counts from 2000-01-01 where the engine counts from 1970-01-01. */

const epochDays = 10_957;
const epochMicros = BigInt(epochDays) * 86_400_000_000n;
/** What the engine stores for an infinite date or timestamp; the negative one is its negation. */
const infiniteDate = 2 ** 31 - 1;
const infiniteTimestamp = 2n ** 63n - 1n;

export function binaryDate(days: number): number {
  if (days >= infiniteDate) return infiniteDate;
  if (days <= -infiniteDate) return -(2 ** 31);
  return days - epochDays;
}

export function binaryTimestamp(micros: bigint): bigint {
  if (micros >= infiniteTimestamp) return infiniteTimestamp;
  if (micros <= -infiniteTimestamp) return -(2n ** 63n);
  return BigInt.asIntN(64, micros - epochMicros);
}

/** The text of a date that came in the binary format. */
export function textOfBinaryDate(days: number): string {
  if (days === infiniteDate) return "infinity";
  return days === -(2 ** 31) ? "-infinity" : readable(dateText(days + epochDays));
}

export function textOfBinaryTimestamp(micros: bigint, zone: "" | "+00"): string {
  if (micros === infiniteTimestamp) return "infinity";
  if (micros === -(2n ** 63n)) return "-infinity";
  return readable(timestampText(micros + epochMicros, { separator: " ", zone }));
}

/** As the engine reads it. */
function readable(text: string): string {
  return timeText(text) ?? text;
}
