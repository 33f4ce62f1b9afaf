import { intervalText } from "../../../engine/sql/time-text.ts";

/** How `IntervalStyle` says that an interval is written. */
export const intervalStyles = {
  postgres: intervalText,
  iso_8601: isoText,
  sql_standard: standardText,
  postgres_verbose: verboseText,
} as const;

export type IntervalStyle = keyof typeof intervalStyles;

export function isIntervalStyle(name: string): name is IntervalStyle {
  return Object.hasOwn(intervalStyles, name);
}

interface Clock {
  readonly hours: bigint;
  readonly minutes: bigint;
  /** With a fraction where there is one, without a sign. */
  readonly seconds: string;
  readonly hasSeconds: boolean;
}

function clockOf(micros: bigint): Clock {
  const size = micros < 0n ? -micros : micros;
  const seconds = (size / 1_000_000n) % 60n;
  const fraction = size % 1_000_000n;
  const tail = fraction === 0n ? "" : `.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`;
  return {
    hours: size / 3_600_000_000n,
    minutes: (size / 60_000_000n) % 60n,
    seconds: `${seconds}${tail}`,
    hasSeconds: seconds !== 0n || fraction !== 0n,
  };
}

/** `P1Y2M3DT4H5M6.5S`; each part has a sign of its own. */
function isoText(months: number, days: number, micros: bigint): string {
  const [years, rest] = [Math.trunc(months / 12), months % 12];
  const { hours, minutes, seconds, hasSeconds } = clockOf(micros);
  const sign = micros < 0n ? "-" : "";
  const date = (years === 0 ? "" : `${years}Y`) + (rest === 0 ? "" : `${rest}M`) + (days === 0 ? "" : `${days}D`);
  const time =
    (hours === 0n ? "" : `${sign}${hours}H`) +
    (minutes === 0n ? "" : `${sign}${minutes}M`) +
    (hasSeconds ? `${sign}${seconds}S` : "");
  if (date === "" && time === "") return "PT0S";
  return `P${date}${time === "" ? "" : `T${time}`}`;
}

/** `1-2 3 4:05:06`; where the signs of the parts differ, each is written. */
function standardText(months: number, days: number, micros: bigint): string {
  const { hours, minutes, seconds } = clockOf(micros);
  const clock = `${hours}:${String(minutes).padStart(2, "0")}:${seconds.replace(/^\d(?!\d)/, "0$&")}`;
  const yearMonth = `${Math.trunc(Math.abs(months) / 12)}-${Math.abs(months) % 12}`;
  const signs = [months, days, Number(micros)].map(Math.sign);
  const parts = [months !== 0, days !== 0, micros !== 0n].filter((there) => there).length;
  if (parts === 0) return "0";
  const isMixed = signs.includes(1) && signs.includes(-1);
  if (isMixed || (months !== 0 && parts > 1)) {
    const signed = (value: number, text: string) => (value < 0 ? `-${text}` : `+${text}`);
    return `${signed(months, yearMonth)} ${signed(days, String(Math.abs(days)))} ${signed(signs[2]!, clock)}`;
  }
  const sign = signs.includes(-1) ? "-" : "";
  if (months !== 0) return sign + yearMonth;
  return sign + (days === 0 ? clock : `${Math.abs(days)} ${clock}`);
}

/** `@ 1 year 2 mons -3 days 4 hours 5 mins 6.5 secs`, with `ago` at the end where the first part is negative. */
function verboseText(months: number, days: number, micros: bigint): string {
  const { hours, minutes, seconds, hasSeconds } = clockOf(micros);
  const time = micros < 0n ? -1n : 1n;
  const first = [Math.trunc(months / 12), months % 12, days, Number(time) * (micros === 0n ? 0 : 1)].find(
    (part) => part !== 0,
  );
  if (first === undefined) return "@ 0";
  const sign = first < 0 ? -1 : 1;
  const unit = (value: number | bigint, name: string) => {
    const isOne = value === 1 || value === 1n;
    return value === 0 || value === 0n ? [] : [`${value} ${name}${isOne ? "" : "s"}`];
  };
  const clockSign = time * BigInt(sign);
  const parts = [
    ...unit(sign * Math.trunc(months / 12), "year"),
    ...unit(sign * (months % 12), "mon"),
    ...unit(sign * days, "day"),
    ...unit(clockSign * hours, "hour"),
    ...unit(clockSign * minutes, "min"),
    ...(hasSeconds ? [`${clockSign < 0n ? "-" : ""}${seconds} sec${seconds === "1" ? "" : "s"}`] : []),
  ];
  return `@ ${parts.join(" ")}${sign < 0 ? " ago" : ""}`;
}
