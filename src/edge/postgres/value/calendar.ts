/** Dates and times as Postgres writes them, DateStyle ISO and TimeZone UTC. */

const dayMicros = 86_400_000_000n;
/** What the engine stores for an infinite date or timestamp; the negative one is its negation. */
const infiniteDate = 2 ** 31 - 1;
const infiniteTimestamp = 2n ** 63n - 1n;
/** From 1970-01-01, the engine's first day, to 2000-01-01, that of Postgres's binary format. */
const epochDays = 10_957;
const epochMicros = BigInt(epochDays) * dayMicros;

export function dateText(days: number): string {
  if (days >= infiniteDate) return "infinity";
  if (days <= -infiniteDate) return "-infinity";
  const { text, beforeChrist } = civil(days);
  return beforeChrist ? `${text} BC` : text;
}

export function timeText(micros: bigint): string {
  return clock(Number(micros));
}

export function timestampText(micros: bigint, zone: "" | "+00"): string {
  if (micros >= infiniteTimestamp) return "infinity";
  if (micros <= -infiniteTimestamp) return "-infinity";
  let days = micros / dayMicros;
  let rest = micros % dayMicros;
  if (rest < 0n) {
    rest += dayMicros;
    days -= 1n;
  }
  const { text, beforeChrist } = civil(Number(days));
  return `${text} ${clock(Number(rest))}${zone}${beforeChrist ? " BC" : ""}`;
}

export function intervalText(months: bigint, days: bigint, micros: bigint): string {
  const parts: string[] = [];
  let negative = false;
  for (const [value, unit] of [
    [months / 12n, "year"],
    [months % 12n, "mon"],
    [days, "day"],
  ] as const) {
    if (value === 0n) continue;
    parts.push(`${parts.length > 0 && negative && value > 0n ? "+" : ""}${value} ${unit}${value === 1n ? "" : "s"}`);
    negative = value < 0n;
  }
  if (micros !== 0n || parts.length === 0) {
    const sign = micros < 0n ? "-" : negative ? "+" : "";
    const size = micros < 0n ? -micros : micros;
    const hours = size / 3_600_000_000n;
    parts.push(`${sign}${String(hours).padStart(2, "0")}${clock(Number(size % 3_600_000_000n)).slice(2)}`);
  }
  return parts.join(" ");
}

/** Days of Postgres's binary format. */
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
  return days === -(2 ** 31) ? "-infinity" : dateText(days + epochDays);
}

export function textOfBinaryTimestamp(micros: bigint, zone: "" | "+00"): string {
  if (micros === infiniteTimestamp) return "infinity";
  return micros === -(2n ** 63n) ? "-infinity" : timestampText(micros + epochMicros, zone);
}

/** Year, month and day of the proleptic Gregorian calendar, from days since 1970-01-01. */
function civil(days: number): { readonly text: string; readonly beforeChrist: boolean } {
  // Counted from 0000-03-01, so that a leap day is the last day of its year.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const beforeChrist = year <= 0;
  const shown = String(beforeChrist ? 1 - year : year).padStart(4, "0");
  return { text: `${shown}-${two(month)}-${two(day)}`, beforeChrist };
}

function clock(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  const fraction = micros - seconds * 1_000_000;
  const time = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return fraction === 0 ? time : `${time}.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
