import type { PostgresDraft } from "./draft.ts";
import { isOpenNumeric, numericOfLiteral } from "./numeric.ts";
import { isArrayAt, typeToken } from "./type-token.ts";

/** A function in place of a cast: `more` are its arguments after the value, `end` is the last token of the type. */
export interface CastCall {
  readonly name: string;
  readonly more: string;
  readonly end: number;
}

/** `varchar(2)` and `char(3)`, which cut what is longer; the type's name ends, or begins, with token `last`. */
export function sizedCall(draft: PostgresDraft, last: number): CastCall | undefined {
  if (draft.tokens[last]?.kind !== "word") return undefined;
  const word = draft.nameAt(last);
  const isVarying = draft.isWord(last + 1, "varying");
  const isFixed = (word === "char" || word === "character" || word === "bpchar") && !isVarying;
  if (!isFixed && word !== "varchar" && !(isVarying && (word === "char" || word === "character"))) return undefined;
  const open = isVarying ? last + 2 : last + 1;
  const end = draft.isSymbol(open, "(") ? draft.closing(open) : -1;
  if (end === open + 2 && !isArrayAt(draft, end + 1)) {
    return { name: isFixed ? "char_of" : "varchar_of", more: `, ${draft.tokens[open + 1]!.text}`, end };
  }
  // Without a size it is of one character.
  return end === -1 && isFixed && word !== "bpchar" ? { name: "char_of", more: ", 1", end: last } : undefined;
}

const textNames = new Set(["text", "varchar", "name"]);
const timeNames = new Set(["date", "timestamp", "timestamptz"]);

/** Functions that give arrays. */
const arrayFunctions =
  /^(?:array|array_(?:agg|append|cat|prepend|remove|replace|positions)|string_to_array|current_schemas)$/;

/** What is shown as another text than DuckDB's: arrays, dates before the year 1, numbers. `i` is the `::` before `text`. */
export function textCall(draft: PostgresDraft, i: number, last: number): CastCall | undefined {
  if (!textNames.has(draft.nameAt(last).toLowerCase()) || draft.isSymbol(last + 1, "(") || isArrayAt(draft, last + 1))
    return undefined;
  const call = (name: string) => ({ name, more: "", end: last });
  const open = draft.opening(i - 1);
  if (draft.isSymbol(i - 1, "]")) {
    const isCast = open === i - 2 && draft.isName(open - 1);
    return isCast || draft.isWord(open - 1, "array") ? call("array_text") : undefined;
  }
  if (draft.isSymbol(i - 1, ")") && arrayFunctions.test(draft.nameAt(open - 1))) return call("array_text");
  const isQualified = draft.isSymbol(i - 2, ".");
  const cast = isQualified ? i - 4 : i - 2;
  if (!draft.isSymbol(cast, "::") || typeToken(draft, cast + 1) !== i - 1) return undefined;
  if (timeNames.has(draft.nameAt(i - 1).toLowerCase())) return call("time_text");
  const isOpen = isOpenNumeric(draft, i - 1) && numericOfLiteral(draft, cast - 1) === undefined;
  return isOpen ? call("numeric_text") : undefined;
}
