import type { PostgresDraft } from "./draft.ts";

const before = new Set(["(", "union", "all", "except", "intersect", "distinct"]);

/** The columns of `VALUES` are `column1`, `column2` and so on; `i` is the word. */
export function rewriteValues(draft: PostgresDraft, i: number): number {
  const open = i + 1;
  if (!draft.isSymbol(open, "(") || (i > 0 && !before.has(draft.tokens[i - 1]!.text))) return 0;
  let last = draft.closing(open);
  while (last !== -1 && draft.isSymbol(last + 1, ",") && draft.isSymbol(last + 2, "(")) last = draft.closing(last + 2);
  if (last === -1 || hasNames(draft, last + 1)) return 0;
  const names = [...draft.commas(open), 0].map((_, n) => `column${n + 1}`);
  draft.insertBefore(i, "SELECT * FROM (");
  draft.insertAfter(last, `) AS "*VALUES*"(${names.join(", ")})`);
  return 1;
}

/** `(VALUES …) AS t(a, b)` */
function hasNames(draft: PostgresDraft, close: number): boolean {
  if (!draft.isSymbol(close, ")")) return false;
  const name = draft.isWord(close + 1, "as") ? close + 2 : close + 1;
  return draft.isName(name) && draft.isSymbol(name + 1, "(");
}

const setOperators = new Set(["union", "except", "intersect"]);

/** A column that is NULL and nothing else is text, where DuckDB takes it for a number. Beside others it is what they are. */
export function rewriteNull(draft: PostgresDraft, i: number): number {
  const [previous, next] = [draft.tokens[i - 1]?.text ?? "", draft.tokens[i + 1]];
  if (draft.around(i) !== -1 || draft.clauseOf(i) !== "select" || !["select", ","].includes(previous)) return 0;
  if (next !== undefined && ![",", "as", "from"].includes(next.text)) return 0;
  if (draft.tokens.some(({ kind, text }) => kind === "word" && setOperators.has(text))) return 0;
  draft.replace(i, i, "NULL::VARCHAR");
  return 1;
}
