/** Values as the text that SQL reads them from. */

const dayMs = 86_400_000;
const dayNanos = 86_400_000_000_000n;

function padded(value: number | bigint, length: number): string {
  return String(value).padStart(length, "0");
}

export function dateText(days: number): string {
  const date = new Date(days * dayMs);
  // Beyond what a `Date` can hold, which is further than any calendar goes.
  if (Number.isNaN(date.getTime())) return "infinity";
  const year = date.getUTCFullYear();
  const text = `${padded(year > 0 ? year : 1 - year, 4)}-${padded(date.getUTCMonth() + 1, 2)}-${padded(date.getUTCDate(), 2)}`;
  return year > 0 ? text : `${text} (BC)`;
}

export function timeText(nanos: bigint): string {
  const seconds = Number(nanos / 1_000_000_000n);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const micros = (nanos % 1_000_000_000n) / 1_000n;
  return `${padded(hours, 2)}:${padded(minutes, 2)}:${padded(seconds % 60, 2)}.${padded(micros, 6)}`;
}

export function timestampText(nanos: bigint, instant: boolean): string {
  const timeOfDay = ((nanos % dayNanos) + dayNanos) % dayNanos;
  const date = dateText(Number((nanos - timeOfDay) / dayNanos));
  const time = `${timeText(timeOfDay)}${instant ? "+00" : ""}`;
  return date.endsWith(" (BC)") ? `${date.slice(0, -5)} (BC) ${time}` : `${date} ${time}`;
}

export function intervalText(months: number, days: number, nanos: bigint): string {
  return `${months} months ${days} days ${nanos / 1000n} microseconds`;
}

export function decimalText(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(Math.min(-scale, 76)));
  const digits = padded(unscaled < 0n ? -unscaled : unscaled, scale + 1);
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** A signed integer of any number of bytes, a multiple of 8. */
export function littleEndian(view: DataView, at: number, bytes: number): bigint {
  let value = view.getBigInt64(at + bytes - 8, true);
  for (let i = bytes - 16; i >= 0; i -= 8) value = (value << 64n) | view.getBigUint64(at + i, true);
  return value;
}

export function halfFloat(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
