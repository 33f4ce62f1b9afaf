const numbers = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export function count(value: number): string {
  return numbers.format(value);
}

/** `1 row`, `2 rows`. */
export function counted(value: number, one: string): string {
  return `${count(value)} ${value === 1 ? one : `${one}s`}`;
}

/** Short, for axes and tiles. */
export function short(value: number): string {
  return Math.abs(value) < 10_000 ? numbers.format(Math.round(value * 100) / 100) : compact.format(value);
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(value: number): string {
  let amount = value;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${unit === 0 ? amount : amount.toFixed(amount < 10 ? 1 : 0)} ${units[unit]}`;
}

export function seconds(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms`;
  return `${value.toFixed(value < 10 ? 1 : 0)} s`;
}

const spans: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
];

/** `1d 2h`: the two largest units. */
export function duration(ms: number): string {
  const parts: string[] = [];
  let left = ms;
  for (const [unit, size] of spans) {
    const whole = Math.floor(left / size);
    if (whole === 0) continue;
    parts.push(`${whole}${unit}`);
    left -= whole * size;
  }
  return parts.slice(0, 2).join(" ") || `${Math.round(ms)}ms`;
}

/** Reads what `duration` writes: a number and ms, s, m, h or d. */
export function parseDuration(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(text);
  if (match === null) return undefined;
  const size = match[2] === "ms" ? 1 : (spans.find(([unit]) => unit === match[2])?.[1] ?? 1);
  return Math.round(Number(match[1]) * size);
}

/** Reads `512`, `64 MiB` and the like. */
export function parseBytes(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB)?\s*$/i.exec(text);
  if (match === null) return undefined;
  const unit = units.findIndex((each) => each.toLowerCase() === (match[2] ?? "B").toLowerCase());
  return Math.round(Number(match[1]) * 1024 ** unit);
}

/** Local time to the millisecond. */
export function time(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const milliseconds = String(date.getMilliseconds()).padStart(3, "0");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`;
}

export function score(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(1) : value.toPrecision(4).replace(/\.?0+$/, "");
}
