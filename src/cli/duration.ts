import { invalid } from "../engine/errors.ts";

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 24 * 3_600_000,
  w: 7 * 24 * 3_600_000,
};

/** Parses a whole number with a unit, `90d` or `12h`, into milliseconds. */
export function parseDurationMs(field: string, text: string): number {
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,8})([smhdw])$/.exec(text) ?? [];
  const each = unitMs[unit];
  if (each === undefined) throw invalid(field, "must be a number and a unit (s, m, h, d or w), for example 90d");
  return Number(count) * each;
}
