/** Texts of SQL's dates, times, intervals and decimals, which the wires share. */

const microsPerSecond = 1_000_000n;
const microsPerDay = 86_400n * microsPerSecond;
const dateInfinity = 2_147_483_647;
const timestampInfinity = 9_223_372_036_854_775_807n;

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

/** The calendar day of a number of days since 1970-01-01. Year 0 is 1 BC. */
export function civil(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  // Counted in eras of 400 years that begin on 1 March, so that the leap day is the last of a year.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

function dateParts(days: number): { readonly text: string; readonly isBefore: boolean } {
  const { year, month, day } = civil(days);
  const isBefore = year <= 0;
  const shown = String(isBefore ? 1 - year : year).padStart(4, "0");
  return { text: `${shown}-${two(month)}-${two(day)}`, isBefore };
}

/** `2026-01-31`; before the year 1 with ` BC`, as PostgreSQL writes it. */
export function dateText(days: number): string {
  if (days === dateInfinity) return "infinity";
  if (days === -dateInfinity) return "-infinity";
  const { text, isBefore } = dateParts(days);
  return isBefore ? `${text} BC` : text;
}

/** As ISO 8601 has it: the year 0 is 1 BC, and years of other than four digits have a sign and six. */
export function isoDateText(days: number): string {
  if (Math.abs(days) === dateInfinity) return dateText(days);
  const { year, month, day } = civil(days);
  const digits = String(Math.abs(year));
  const shown =
    year >= 0 && year <= 9999 ? digits.padStart(4, "0") : `${year < 0 ? "-" : "+"}${digits.padStart(6, "0")}`;
  return `${shown}-${two(month)}-${two(day)}`;
}

/** `12:34:56` with as many digits of the second's fraction as it has. */
export function timeText(micros: bigint): string {
  const seconds = Number(micros / microsPerSecond);
  const fraction = Number(micros % microsPerSecond);
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return fraction === 0 ? clock : `${clock}.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`;
}

export interface TimestampStyle {
  /** Between date and time: `T` as in ISO 8601, whose years it has, too; a space as PostgreSQL. */
  readonly separator: " " | "T";
  /** After the time: nothing for a timestamp of no zone, `Z` or `+00` for an instant. */
  readonly zone: "" | "Z" | "+00";
}

export function timestampText(micros: bigint, { separator, zone }: TimestampStyle): string {
  if (micros === timestampInfinity) return "infinity";
  if (micros === -timestampInfinity) return "-infinity";
  const days = floorDiv(micros, microsPerDay);
  const clock = `${separator}${timeText(micros - days * microsPerDay)}${zone}`;
  if (separator === "T") return isoDateText(Number(days)) + clock;
  const { text, isBefore } = dateParts(Number(days));
  const whole = text + clock;
  return isBefore ? `${whole} BC` : whole;
}

/** As PostgreSQL writes it: `1 year 2 mons 3 days 04:05:06.7`. */
export function intervalText(months: number, days: number, micros: bigint): string {
  const parts: string[] = [];
  const years = Math.trunc(months / 12);
  const rest = months % 12;
  if (years !== 0) parts.push(`${years} ${Math.abs(years) === 1 ? "year" : "years"}`);
  if (rest !== 0) parts.push(`${rest} ${Math.abs(rest) === 1 ? "mon" : "mons"}`);
  if (days !== 0) parts.push(`${days} ${Math.abs(days) === 1 ? "day" : "days"}`);
  if (micros !== 0n || parts.length === 0) parts.push(micros < 0n ? `-${timeText(-micros)}` : timeText(micros));
  return parts.join(" ");
}

/** A scaled integer with its decimal point. */
export function decimalText(scaled: bigint, scale: number): string {
  if (scale === 0) return String(scaled);
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(scale + 1, "0");
  const sign = scaled < 0n ? "-" : "";
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function uuidText(bytes: Uint8Array, at: number): string {
  let text = "";
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
    text += hex[bytes[at + i]!];
  }
  return text;
}
