const microsPerSecond = 1_000_000;
const microsPerDay = 86_400_000_000n;

export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** MySQL knows the years 0 to 9999; days are counted from 1970-01-01. */
const firstDay = -719_528;
const lastDay = 2_932_896;

export function isKnownDay(days: number): boolean {
  return days >= firstDay && days <= lastDay;
}

export interface Clock {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly micros: number;
}

export function clockOf(micros: number): Clock {
  const wholeSeconds = Math.floor(micros / microsPerSecond);
  return {
    hours: Math.floor(wholeSeconds / 3600),
    minutes: Math.floor(wholeSeconds / 60) % 60,
    seconds: wholeSeconds % 60,
    micros: micros - wholeSeconds * microsPerSecond,
  };
}

/** An instant in microseconds as its day and the microseconds since its midnight. */
export function splitInstant(micros: bigint): { readonly days: number; readonly micros: number } {
  let days = micros / microsPerDay;
  let rest = micros - days * microsPerDay;
  if (rest < 0n) {
    days -= 1n;
    rest += microsPerDay;
  }
  return { days: Number(days), micros: Number(rest) };
}

export function dateText({ year, month, day }: Day): string {
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

/** With six digits after the second only where there is a fraction, as MySQL's own clients expect it either way. */
export function clockText({ hours, minutes, seconds, micros }: Clock): string {
  const whole = `${two(hours)}:${two(minutes)}:${two(seconds)}`;
  return micros === 0 ? whole : `${whole}.${String(micros).padStart(6, "0")}`;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
