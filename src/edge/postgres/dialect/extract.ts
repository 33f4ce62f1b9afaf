import { catalogSchema } from "./catalog.ts";
import type { PostgresDraft } from "./draft.ts";
import { stringOf } from "./lexer.ts";

/** Parts of a date that DuckDB counts with a year 0. */
const partsWithYear = new Set(["year", "isoyear", "decade"]);

/** `extract(year from x)` and `date_part('year', x)`, whose brackets open at token `open`. */
export function rewritePart(draft: PostgresDraft, first: number, open: number): boolean {
  const part = draft.tokens[open + 1];
  const name = part?.kind === "string" ? stringOf(part).toLowerCase() : (part?.text ?? "");
  const isParted = draft.isWord(open + 2, "from") || draft.isSymbol(open + 2, ",");
  if (!isParted || !partsWithYear.has(name)) return false;
  draft.replace(first, open + 2, `${catalogSchema}.part_${name}(`);
  return true;
}
