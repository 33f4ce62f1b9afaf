import { decimalText } from "../../../engine/sql/time-text.ts";
import { openScale } from "../dialect/numeric.ts";
import type { MessageWriter } from "../message/writer.ts";

/** Whether a decimal stands for a numeric whose digits nobody has given: zeros at its end are none of its value's. */
export function isOpenDecimal(width: number, scale: number): boolean {
  return width === 38 && scale >= openScale;
}

/** How many digits after the point such a value needs. */
function neededScale(scaled: bigint, scale: number): number {
  const digits = String(scaled);
  let needed = scale;
  while (needed > 0 && digits.at(-1 - scale + needed) === "0") needed--;
  return scaled === 0n ? 0 : needed;
}

export function openDecimalText(scaled: bigint, scale: number): string {
  const needed = neededScale(scaled, scale);
  return decimalText(scaled / 10n ** BigInt(scale - needed), needed);
}

export function writeOpenNumeric(out: MessageWriter, scaled: bigint, scale: number): void {
  const needed = neededScale(scaled, scale);
  writeNumeric(out, scaled / 10n ** BigInt(scale - needed), needed);
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

/** What a numeric is that is no number. */
const specials: ReadonlyMap<number, string> = new Map([
  [-0x4000, "NaN"],
  [-0x3000, "Infinity"],
  [-0x1000, "-Infinity"],
]);

/** The same number with its digits and an exponent, no longer than its bytes make it. */
export function scientificText(digits: readonly number[], weight: number, sign: number): string {
  const whole = digits.map((digit) => String(digit).padStart(4, "0")).join("") || "0";
  return specials.get(sign) ?? `${sign === 0x4000 ? "-" : ""}${whole}e${4 * (weight + 1 - digits.length)}`;
}

/** The text of a numeric in the binary format above. */
export function numericText(digits: readonly number[], weight: number, sign: number, scale: number): string {
  const special = specials.get(sign);
  if (special !== undefined) return special;
  let whole = "";
  for (let i = 0; i <= weight; i++) whole += String(digits[i] ?? 0).padStart(4, "0");
  let fraction = "";
  for (let i = weight + 1; fraction.length < scale; i++) fraction += String(digits[i] ?? 0).padStart(4, "0");
  const shown = whole.replace(/^0+(?=\d)/, "") || "0";
  return `${sign === 0x4000 ? "-" : ""}${shown}${scale > 0 ? `.${fraction.slice(0, scale)}` : ""}`;
}
