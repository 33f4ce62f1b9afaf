import { parseBytea } from "./postgres-bytea.ts";
import { catalogSchema } from "./postgres-catalog.ts";
import { type PostgresDraft, quotedText } from "./postgres-draft.ts";
import { stringOf, type Token } from "./postgres-lexer.ts";

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
    const end = renamedType(draft, i + 1, last, name);
    return end - i + 1;
  }
  const start = draft.operandStart(i - 1);
  const isText = isTextual(draft.tokens[start]!) && isPlainText(draft, start, i);
  const isArray = draft.isSymbol(last + 1, "[") && draft.isSymbol(last + 2, "]");
  const end = isArray ? last + 2 : last;
  const call = `${catalogSchema}.${lookup}_${isText ? "oid" : "name"}${isArray ? "s" : ""}(`;
  const isName = isText && !isArray && isShown(draft, start, last);
  draft.insertBefore(start, isName ? `${catalogSchema}.${lookup}_name(${call}` : call);
  draft.replace(i, end, isName ? "))" : isArray && isText ? "::VARCHAR[])" : ")");
  return end - i + 1;
}

/** Whether a name that is looked up is shown, as a column of the answer or a text, and not compared with numbers. */
function isShown(draft: PostgresDraft, start: number, last: number): boolean {
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
  if (lookup === undefined) {
    const end = renamedType(draft, i + 1, last, name);
    return end - i + 1;
  }
  const isText = open === i - 2 && isTextual(draft.tokens[i - 1]!);
  draft.replace(open - 1, open - 1, `${catalogSchema}.${lookup}_${isText ? "oid" : "name"}`);
  draft.replace(i, last, "");
  return last - i + 1;
}

/** Gives the last token that it has dealt with. */
function renamedType(draft: PostgresDraft, first: number, last: number, name: string): number {
  const known = Object.hasOwn(typeNames, name) ? typeNames[name] : undefined;
  if (last === first && known === undefined) return last;
  // A vector's number of dimensions is no bound of its type here.
  const dimensions = name === "vector" && draft.isSymbol(last + 1, "(") ? draft.closing(last + 1) : -1;
  const end = dimensions === -1 ? last : dimensions;
  draft.replace(first, end, known ?? name);
  return end;
}

/** The last token of a type's name that may have a schema before it; -1 where there is no name. */
function typeToken(draft: PostgresDraft, i: number): number {
  if (!draft.isName(i)) return -1;
  if (!draft.isSymbol(i + 1, ".")) return i;
  const schema = draft.nameAt(i).toLowerCase();
  return draft.isName(i + 2) && (schema === "pg_catalog" || schema === "information_schema") ? i + 2 : -1;
}

/** A string that holds an array: `'{1,2}'::int[]`, `= any('{1,2}')`, `conkey = '{1}'`. */
export function rewriteArrayText(draft: PostgresDraft, i: number, token: Token): number {
  const value = stringOf(token);
  if (!/^\s*\{/.test(value) || !/\}\s*$/.test(value)) return 0;
  if (draft.isSymbol(i + 1, "::") && isArrayType(draft, i + 2)) {
    draft.replace(i, i, quotedText(bracketed(value)));
    return 1;
  }
  const isAny = draft.isSymbol(i - 1, "(") && draft.isSymbol(i + 1, ")") && anyWords.has(draft.nameAt(i - 2));
  if (isAny) {
    draft.replace(i, i, listOf(value));
    return 1;
  }
  const isCompared = /^\{[\d,\s]*\}$/.test(value) && (draft.isSymbol(i - 1, "=") || draft.isSymbol(i - 1, ">"));
  if (!isCompared) return 0;
  draft.replace(i, i, quotedText(bracketed(value)));
  return 1;
}

/** A string that holds bytes, `'\x00ff'::bytea` or in the older form with octal digits, as DuckDB writes them. */
export function rewriteByteText(draft: PostgresDraft, i: number, token: Token): number {
  const isCast =
    draft.isSymbol(i + 1, "::") || (draft.isWord(i + 1, "as") && draft.isWord(draft.around(i) - 1, "cast"));
  const last = isCast ? typeToken(draft, i + 2) : -1;
  const isBytes = last === -1 ? draft.isWord(i - 1, "bytea") : draft.nameAt(last).toLowerCase() === "bytea";
  if (!isBytes || draft.isSymbol(last + 1, "[")) return 0;
  const bytes = parseBytea(stringOf(token));
  if (bytes === undefined) return 0;
  const text = bytes.toString("hex").replace(/../g, "\\x$&");
  draft.replace(i, i, quotedText(text));
  return 1;
}

const anyWords = new Set(["any", "all", "some"]);

function isArrayType(draft: PostgresDraft, i: number): boolean {
  const last = typeToken(draft, i);
  if (last === -1) return false;
  const name = draft.nameAt(last).toLowerCase();
  if (name === "oidvector" || name === "int2vector") return true;
  // A type may be of several words, and have a size in brackets.
  for (let at = last + 1; at < last + 6; at++) {
    if (draft.isSymbol(at, "[")) return true;
    if (draft.isSymbol(at, "(")) at = draft.closing(at);
    else if (!draft.isName(at)) return false;
    if (at === -1) return false;
  }
  return false;
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

/** The text of an array in DuckDB's brackets. */
function bracketed(array: string): string {
  const parts: string[] = [];
  let isQuoted = false;
  for (let at = 0; at < array.length; at++) {
    const character = array[at]!;
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted && character === "\\") parts.push(character, array[++at] ?? "");
    else if (isQuoted) parts.push(character);
    else parts.push(character === "{" ? "[" : character === "}" ? "]" : character);
  }
  return parts.join("");
}

/** The items of an array of no type: numbers where all are, else texts. */
function listOf(array: string): string {
  const items = itemsOf(array);
  const isNumbers = items.every((item) => item === undefined || /^\s*-?\d+(?:\.\d+)?\s*$/.test(item));
  const shown = items.map((item) => (item === undefined ? "NULL" : isNumbers ? item : quotedText(item)));
  return `[${shown.join(", ")}]`;
}

/** Undefined is NULL. */
export function itemsOf(array: string): (string | undefined)[] {
  const inner = array.trim().slice(1, -1);
  const items: (string | undefined)[] = [];
  if (inner.trim() === "") return items;
  let item: string[] = [];
  let isQuoted = false;
  let wasQuoted = false;
  const finish = () => {
    const text = item.join("");
    if (wasQuoted) items.push(text);
    else items.push(text.trim().toLowerCase() === "null" ? undefined : text.trim());
    item = [];
    wasQuoted = false;
  };
  for (let at = 0; at < inner.length; at++) {
    const character = inner[at]!;
    if (character === "\\") item.push(inner[++at] ?? "");
    else if (character === '"') {
      isQuoted = !isQuoted;
      wasQuoted = true;
    } else if (character === "," && !isQuoted) finish();
    else item.push(character);
  }
  finish();
  return items;
}
