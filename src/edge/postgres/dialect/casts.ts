import { catalogSchema } from "./catalog.ts";
import type { Call, PostgresDraft } from "./draft.ts";
import type { Token } from "./lexer.ts";
import { isOpenNumeric, numericOfLiteral, openNumeric } from "./numeric.ts";

/** Types that stand for names of things, and the functions that look these up. */
const lookups: Readonly<Record<string, string>> = {
  regclass: "regclass",
  regtype: "regtype",
  regnamespace: "regnamespace",
  regproc: "regproc",
  regprocedure: "regproc",
  regoper: "regproc",
  regoperator: "regproc",
  regrole: "regrole",
};

/** Types that DuckDB has under another name. An oid is a number of 32 bits without a sign. */
const typeNames: Readonly<Record<string, string>> = {
  name: "text",
  oid: "uinteger",
  xid: "bigint",
  cid: "bigint",
  jsonb: "json",
  oidvector: "uinteger[]",
  int2vector: "smallint[]",
  vector: "float[]",
  citext: "text",
};

/** `::type` with the schema before it, names of things, and types that DuckDB calls otherwise. `i` is the `::`. */
export function rewriteCast(draft: PostgresDraft, i: number): number {
  const last = typeToken(draft, i + 1);
  if (last === -1) return 0;
  const name = draft.nameAt(last).toLowerCase();
  const lookup = Object.hasOwn(lookups, name) ? lookups[name] : undefined;
  if (lookup === undefined) {
    if (name === "oid") refuseFunctionNumber(draft, i);
    const call = castCall(draft, i - 1, last) ?? textCall(draft, i, last);
    if (call === undefined) return renamedType(draft, i + 1, last, i - 1) - i + 1;
    draft.insertBefore(draft.operandStart(i - 1), `${catalogSchema}.${call.name}(`);
    draft.replace(i, call.end, `${call.more})`);
    return call.end - i + 1;
  }
  const start = draft.operandStart(i - 1);
  const isText = isTextual(draft.tokens[start]!) && isPlainText(draft, start, i);
  const isArray = isArrayAt(draft, last + 1);
  const end = isArray ? last + 2 : last;
  if (!isText && !isArray && isComparedWithName(draft, last + 1)) {
    draft.replace(i, end, "");
    return end - i + 1;
  }
  const scope = lookup === "regclass" ? `${draft.path}, ` : "";
  const call = `${catalogSchema}.${lookup}_${isText ? "oid" : "name"}${isArray ? "s" : ""}(${scope}`;
  const isName = isText && !isArray && isShown(draft, start, last);
  draft.insertBefore(start, isName ? `${catalogSchema}.${lookup}_name(${scope}${call}` : call);
  draft.replace(i, end, isName ? "))" : isArray && isText ? "::VARCHAR[])" : ")");
  return end - i + 1;
}

/** `… = 'name'::regtype`, where both sides are numbers; `i` is the operator. */
function isComparedWithName(draft: PostgresDraft, i: number): boolean {
  const sign = ["=", "<>", "!="].find((each) => draft.isOperator(i, each));
  const text = sign === undefined ? -1 : i + sign.length;
  if (draft.tokens[text]?.kind !== "string" || !draft.isSymbol(text + 1, "::")) return false;
  return Object.hasOwn(lookups, draft.nameAt(typeToken(draft, text + 2)).toLowerCase());
}

/** `to_regclass('x')` and its kin, whose answers are shown by their names too. */
export function rewriteLookup(draft: PostgresDraft, { first, last, name, end }: Call): boolean {
  if (end === -1) return false;
  const lookup = name.slice("to_".length);
  const scope = lookup === "regclass" ? `${draft.path}, ` : "";
  const isName = isShown(draft, first, end);
  draft.replace(
    first,
    last + 1,
    `${isName ? `${catalogSchema}.${lookup}_name(${scope}` : ""}${catalogSchema}.${name}(${scope}`,
  );
  if (isName) draft.insertAfter(end, ")");
  return true;
}

/** Whether a name that is looked up is shown, as a column of the answer or a text, and not compared with numbers. */
export function isShown(draft: PostgresDraft, start: number, last: number): boolean {
  if (draft.isSymbol(last + 1, "::")) return textTypes.has(draft.nameAt(typeToken(draft, last + 2)));
  const [before, after] = [draft.tokens[start - 1]?.text ?? "", draft.tokens[last + 1]?.text ?? ";"];
  const isColumn = draft.clauseOf(start) === "select" && draft.around(start) === -1;
  return isColumn && ["select", ","].includes(before) && [";", ",", "as", "from"].includes(after);
}

function refuseFunctionNumber(draft: PostgresDraft, i: number): void {
  const type = draft.nameAt(i - 1).toLowerCase();
  const isCast = draft.isSymbol(i - 2, "::") || (draft.isSymbol(i - 2, ".") && draft.isSymbol(i - 4, "::"));
  if (!isCast || !Object.hasOwn(lookups, type) || lookups[type] !== "regproc") return;
  throw draft.unsupported(i, `functions and operators have no numbers here: a ${type} is told by its name`);
}

/** `CAST(x AS type)`; `i` is the AS. */
export function rewriteCastAs(draft: PostgresDraft, i: number): number {
  const open = draft.around(i);
  const last = typeToken(draft, i + 1);
  if (last === -1 || !draft.isWord(open - 1, "cast")) return 0;
  const name = draft.nameAt(last).toLowerCase();
  const lookup = Object.hasOwn(lookups, name) ? lookups[name] : undefined;
  const operand = open === i - 2 ? i - 1 : -1;
  if (lookup === undefined) {
    const call = castCall(draft, operand, last);
    if (call === undefined) return renamedType(draft, i + 1, last, operand) - i + 1;
    draft.replace(open - 1, open - 1, `${catalogSchema}.${call.name}`);
    draft.replace(i, call.end, call.more);
    return call.end - i + 1;
  }
  const isText = open === i - 2 && isTextual(draft.tokens[i - 1]!);
  const scope = lookup === "regclass" ? `${draft.path}, ` : "";
  draft.replace(open - 1, open, `${catalogSchema}.${lookup}_${isText ? "oid" : "name"}(${scope}`);
  draft.replace(i, last, "");
  return last - i + 1;
}

/** The function that stands for a cast to the type of token `last`. `operand` is the token that is cast, if it is one. */
function castCall(draft: PostgresDraft, operand: number, last: number): CastCall | undefined {
  if (isArrayAt(draft, last + 1)) return undefined;
  const isNumber = draft.nameAt(last).toLowerCase() === "oid" && operand !== -1 && isFunctionColumn(draft, operand);
  if (isNumber) return { name: "function_oid", more: "", end: last };
  if (!isOpenNumeric(draft, last)) return sizedCall(draft, last);
  const isKnown = draft.tokens[operand]?.kind === "parameter" || numericOfLiteral(draft, operand) !== undefined;
  return isKnown ? undefined : { name: "numeric_of", more: "", end: last };
}

/** Gives the last token that it has dealt with. */
function renamedType(draft: PostgresDraft, first: number, last: number, operand: number): number {
  const name = draft.nameAt(last).toLowerCase();
  const numeric = isOpenNumeric(draft, last) ? (numericOfLiteral(draft, operand) ?? openNumeric) : undefined;
  const known = numeric ?? (Object.hasOwn(typeNames, name) ? typeNames[name] : undefined);
  if (last === first && known === undefined) return last;
  // A vector's number of dimensions is no bound of its type here.
  const dimensions = name === "vector" && draft.isSymbol(last + 1, "(") ? draft.closing(last + 1) : -1;
  const end = dimensions === -1 ? last : dimensions;
  draft.replace(first, end, known ?? name);
  return end;
}

/** `numeric '1.5'`; `i` is the type. */
export function rewriteTypedNumber(draft: PostgresDraft, i: number): number {
  const type = isOpenNumeric(draft, i) ? numericOfLiteral(draft, i + 1) : undefined;
  if (type === undefined || draft.tokens[i + 1]?.kind !== "string") return 0;
  draft.replace(i, i, type);
  return 1;
}

const textTypes = new Set(["text", "varchar", "name"]);

/** Whether nothing stands between an operand and the cast at `i`, but for one to text. */
function isPlainText(draft: PostgresDraft, start: number, i: number): boolean {
  return start === i - 1 || (start === i - 3 && draft.isSymbol(start + 1, "::") && textTypes.has(draft.nameAt(i - 1)));
}

/** The name of a thing, and not its number: as text it comes from the client. */
function isTextual({ kind }: Token): boolean {
  return kind === "string" || kind === "parameter";
}

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

/** A function in place of a cast: `more` are its arguments after the value, `end` is the last token of the type. */
interface CastCall {
  readonly name: string;
  readonly more: string;
  readonly end: number;
}

/** `varchar(2)` and `char(3)`, which cut what is longer; the type's name ends, or begins, with token `last`. */
function sizedCall(draft: PostgresDraft, last: number): CastCall | undefined {
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
function textCall(draft: PostgresDraft, i: number, last: number): CastCall | undefined {
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

/** Columns that hold functions by their names, which Postgres compares with numbers too: one that is not there is `-`. */
const functionColumns = new Set(
  `typinput typoutput typreceive typsend typmodin typmodout typanalyze typsubscript aggfnoid aggtransfn aggfinalfn
   amhandler`.split(/\s+/),
);

function isFunctionColumn(draft: PostgresDraft, i: number): boolean {
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
