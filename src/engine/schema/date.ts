const pattern =
  /^(\d{4}|[+-]\d{6})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2}))?$/;

/** The widest range that a Date can show. */
const epochMsMax = 8.64e15;

function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400) + (year < 0 ? 400 : 0), month, 0)).getUTCDate();
}

function offsetMinutes(zone: string | undefined): number {
  if (zone === undefined || zone.toUpperCase() === "Z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

/** RFC 3339, beyond its years with a sign and six digits as in ISO 8601 (a date alone is its midnight UTC) or whole epoch milliseconds; undefined for anything else. */
export function parseDate(value: unknown): number | undefined {
  if (typeof value === "number") {
    return Number.isInteger(value) && Math.abs(value) <= epochMsMax ? value + 0 : undefined;
  }
  if (typeof value !== "string") return undefined;
  const match = pattern.exec(value);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const ms = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  at.setUTCHours(hour, minute, second, ms);
  const epochMs = at.getTime() - offsetMinutes(match[8]) * 60_000;
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
