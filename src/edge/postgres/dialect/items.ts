import { notAlias, type PostgresDraft } from "./draft.ts";

/** Whether tokens are a whole column of a select list without a name of its own. */
export function isItem(draft: PostgresDraft, first: number, last: number): boolean {
  if (draft.clauseOf(first) !== "select") return false;
  const before = draft.tokens[first - 1];
  const after = draft.tokens[last + 1];
  const begins = before === undefined || ["select", ",", "distinct", "all"].includes(before.text);
  return (
    begins &&
    (after === undefined || [",", "from", "union", ")", "where", "limit", "order", "group"].includes(after.text))
  );
}

/** What the column of a function's rows is called. */
export function columnOf(draft: PostgresDraft, end: number, column: string): string {
  const at = aliasAt(draft, end);
  if (at === -1 || draft.isSymbol(at + 1, "(") || column === "value") return column;
  return draft.text.slice(draft.tokens[at]!.start, draft.tokens[at]!.end);
}

export function hasAlias(draft: PostgresDraft, end: number): boolean {
  return aliasAt(draft, end) !== -1;
}

/** The other name of what ends with token `end`; -1 where there is none. */
export function aliasAt(draft: PostgresDraft, end: number): number {
  const at = draft.isWord(end + 1, "as") ? end + 2 : end + 1;
  const token = draft.tokens[at];
  const isName = token?.kind === "quoted" || (token?.kind === "word" && !notAlias.has(token.text));
  return isName ? at : -1;
}
