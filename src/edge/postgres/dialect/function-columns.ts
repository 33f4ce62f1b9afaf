import { catalogSchema } from "./catalog.ts";
import type { PostgresDraft } from "./draft.ts";

/** Columns that hold functions by their names, which Postgres compares with numbers too: one that is not there is `-`. */
const functionColumns = new Set(
  `typinput typoutput typreceive typsend typmodin typmodout typanalyze typsubscript aggfnoid aggtransfn aggfinalfn
   amhandler`.split(/\s+/),
);

export function isFunctionColumn(draft: PostgresDraft, i: number): boolean {
  return functionColumns.has(draft.nameAt(i));
}

/** `typreceive <> 0` and `pg_proc.oid = typinput`; `i` is the column. */
export function rewriteFunctionColumn(draft: PostgresDraft, i: number): number {
  if (!isFunctionColumn(draft, i)) return 0;
  const sign = ["=", "<>", "!=", ">"].find((each) => draft.isOperator(i + 1, each));
  const value = sign === undefined ? -1 : i + 1 + sign.length;
  if (draft.tokens[value]?.kind === "number" && draft.tokens[value]!.text === "0") {
    draft.replace(value, value, "'-'");
    return sign!.length + 2;
  }
  const start = draft.operandStart(i);
  const isBefore = value !== -1 && draft.isWord(draft.operandEnd(value), "oid");
  const isAfter = draft.isSymbol(start - 1, "=") && draft.isWord(start - 2, "oid");
  if (!isBefore && !isAfter) return 0;
  draft.insertBefore(start, `${catalogSchema}.function_oid(`);
  draft.insertAfter(i, ")");
  return 1;
}
