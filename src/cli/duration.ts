import { UsageError } from "./command.ts";

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A number and ms, s, m, h or d. */
export function parseAge(what: string, text: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) throw new UsageError(`${what}: ${text} is not a duration; give a number and ms, s, m, h or d`);
  return Number(match[1]) * unitsMs[match[2]!]!;
}
