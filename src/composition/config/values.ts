import { invalid } from "../../engine/errors.ts";

/** What the texts of settings stand for; `field` names the setting in the error. */

const durationUnitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseDuration(text: string, field: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null)
    throw invalid(field, `${JSON.stringify(text)} is no duration; give a number and ms, s, m, h or d`);
  return Number(match[1]) * durationUnitsMs[match[2]!]!;
}

/** The same the other way round, in the largest unit that leaves no rest. */
export function formatDuration(ms: number): string {
  const [unit, unitMs] = Object.entries(durationUnitsMs).findLast(([, each]) => ms >= each && ms % each === 0) ?? [
    "ms",
    1,
  ];
  return `${ms / unitMs}${unit}`;
}

/** A duration within bounds, which are written as durations too. */
export function durationWithin(least: string, most: string): (text: string, field: string) => number {
  const leastMs = parseDuration(least, "least");
  const mostMs = parseDuration(most, "most");
  return (text, field) => {
    const ms = parseDuration(text, field);
    if (ms < leastMs || ms > mostMs) throw invalid(field, `must be from ${least} to ${most}`);
    return ms;
  };
}

export function oneOf<const T extends string>(...values: readonly T[]): (text: string, field: string) => T {
  return (text, field) => {
    const found = values.find((value) => value === text);
    if (found === undefined) throw invalid(field, `${JSON.stringify(text)} is not one of ${values.join(", ")}`);
    return found;
  };
}

export function wholeNumber(min: number, max: number): (text: string, field: string) => number {
  return (text, field) => {
    const value = Number(text);
    if (!/^\d+$/.test(text.trim()) || value < min || value > max) {
      throw invalid(field, `${JSON.stringify(text)} is not a whole number from ${min} to ${max}`);
    }
    return value;
  };
}

export function nonEmpty(text: string, field: string): string {
  if (text.trim() === "") throw invalid(field, "must not be empty");
  return text;
}

export function url(text: string, field: string): string {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  if (parsed === undefined || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw invalid(field, "must be an http or https address");
  }
  if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    throw invalid(field, "must have no credentials, query or fragment");
  }
  return text;
}

/** Origins as browsers write them: a scheme, a host and, where it is not the usual one, a port. */
export function origins(text: string, field: string): readonly string[] {
  const items = text.startsWith("[") ? (json(text, field) as unknown[]) : text.split(",").map((part) => part.trim());
  return items.map((origin) => {
    if (typeof origin !== "string" || !URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw invalid(field, `${JSON.stringify(origin)} is no origin; give for example https://app.example.com`);
    }
    return origin;
  });
}

export function json(text: string, field: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(field, "must be JSON");
  }
}
