import type { MessageWriter } from "../message/writer.ts";

/** The shortest text that gives the same number of double precision again. */
export function float64Text(value: number): string {
  if (Number.isFinite(value)) return Object.is(value, -0) ? "-0" : String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

/** The same for single precision: 0.1, not 0.10000000149011612. */
export function float32Text(value: number): string {
  if (!Number.isFinite(value) || Number.isInteger(value)) return float64Text(value);
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  // Nine digits tell all of them apart.
  return String(Number(value.toPrecision(9)));
}

/** A scaled integer with its point. */
export function decimalText(scaled: bigint, scale: number): string {
  if (scale === 0) return String(scaled);
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(scale + 1, "0");
  const point = digits.length - scale;
  return `${scaled < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * numeric: digits: int16 (their count), weight: int16 (power of 10,000 of the first), sign: int16 (0 or 0x4000),
 * scale: int16 (decimal digits that are shown), then each digit, to the base of 10,000: int16
 */
export function writeNumeric(out: MessageWriter, scaled: bigint, scale: number): void {
  const text = String(scaled < 0n ? -scaled : scaled);
  // Filled up so that groups of four begin at the point on both sides of it.
  const fraction = (4 - (scale % 4)) % 4;
  const padded = text.padStart(scale, "0") + "0".repeat(fraction);
  const whole = padded.length - scale - fraction;
  const lined = "0".repeat((4 - (whole % 4)) % 4) + padded;
  const groups: number[] = [];
  for (let i = 0; i < lined.length; i += 4) groups.push(Number(lined.slice(i, i + 4)));
  let weight = Math.ceil(whole / 4) - 1;
  while (groups[0] === 0) {
    groups.shift();
    weight--;
  }
  while (groups.at(-1) === 0) groups.pop();
  if (groups.length === 0) weight = 0;
  out
    .int16(groups.length)
    .int16(weight)
    .int16(scaled < 0n ? 0x4000 : 0)
    .int16(scale);
  for (const group of groups) out.int16(group);
}

/** The text of a numeric in the binary format above. */
export function numericText(digits: readonly number[], weight: number, sign: number, scale: number): string {
  if (sign === -0x4000) return "NaN";
  if (sign === -0x3000) return "Infinity";
  if (sign === -0x1000) return "-Infinity";
  let whole = "";
  for (let i = 0; i <= weight; i++) whole += String(digits[i] ?? 0).padStart(4, "0");
  let fraction = "";
  for (let i = weight + 1; fraction.length < scale; i++) fraction += String(digits[i] ?? 0).padStart(4, "0");
  const shown = whole.replace(/^0+(?=\d)/, "") || "0";
  return `${sign === 0x4000 ? "-" : ""}${shown}${scale > 0 ? `.${fraction.slice(0, scale)}` : ""}`;
}
