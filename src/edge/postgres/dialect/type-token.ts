import type { PostgresDraft } from "./draft.ts";

/** The last token of a type's name that may have a schema before it; -1 where there is no name. */
export function typeToken(draft: PostgresDraft, i: number): number {
  if (!draft.isName(i)) return -1;
  if (!draft.isSymbol(i + 1, ".")) return i;
  const schema = draft.nameAt(i).toLowerCase();
  return draft.isName(i + 2) && (schema === "pg_catalog" || schema === "information_schema") ? i + 2 : -1;
}

/** Whether `[]` stands at token `i`. */
export function isArrayAt(draft: PostgresDraft, i: number): boolean {
  return draft.isSymbol(i, "[") && draft.isSymbol(i + 1, "]");
}
