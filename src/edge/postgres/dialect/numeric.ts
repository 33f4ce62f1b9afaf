import type { PostgresDraft } from "./draft.ts";
import { stringOf } from "./lexer.ts";

/** The digits of the widest decimal that DuckDB has, and those after the point of one whose digits are not known. */
const digitsMax = 38;
export const openScale = 12;

/** What a numeric without digits is, where nothing tells how many it needs. It is shown without zeros at its end. */
export const openNumeric = `decimal(${digitsMax},${openScale})`;

const names = new Set(["numeric", "decimal", "dec"]);

/** Whether the type whose name is token `last` is a numeric that says no digits. */
export function isOpenNumeric(draft: PostgresDraft, last: number): boolean {
  return names.has(draft.nameAt(last).toLowerCase()) && !draft.isSymbol(last + 1, "(");
}

/** The type that holds a number as token `i` writes it; undefined where it is no number. */
export function numericOfLiteral(draft: PostgresDraft, i: number): string | undefined {
  const token = draft.tokens[i];
  if (token?.kind !== "number" && token?.kind !== "string") return undefined;
  const text = token.kind === "number" ? token.text : stringOf(token).trim();
  const [, whole, fraction = "", exponent = "0"] = /^[+-]?([\d_]*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const scale = Math.max(fraction.length - Number(exponent), 0);
  return scale > digitsMax ? undefined : `decimal(${digitsMax},${scale})`;
}
