import { PostgresDraft } from "./draft.ts";
import type { StatementText } from "./lexer.ts";

/** How sure a name is: that of a column or a function is kept under a cast, that of a type is not. */
interface Figured {
  readonly name: string | undefined;
  readonly isStrong: boolean;
}

interface Primary extends Figured {
  readonly end: number;
}

const nothing: Figured = { name: undefined, isStrong: false };

/** What Postgres calls an expression that has no name. */
export const namelessColumn = "?column?";

/**
 * The names that Postgres gives to the columns of a statement's list. Undefined for one that is a column or has a name
 * of its own; undefined as a whole where the statement alone does not determine the list.
 */
export function writtenNames(statement: StatementText): (string | undefined)[] | undefined {
  const draft = new PostgresDraft(statement);
  if (!draft.isWord(0, "select") && !draft.isWord(0, "with")) return undefined;
  const at = draft.tokens.findIndex((_, i) => draft.isWord(i, "select") && draft.around(i) === -1);
  const items = at === -1 ? [] : listItems(draft, at);
  const isOpen = items.some(([first, last]) => draft.isSymbol(last, "*") || draft.isSymbol(first, "*"));
  return items.length === 0 || isOpen ? undefined : items.map(([first, last]) => itemName(draft, first, last));
}

function listItems(draft: PostgresDraft, select: number): (readonly [number, number])[] {
  let from = select + 1;
  if (draft.isWord(from, "distinct") && draft.isWord(from + 1, "on")) from = draft.closing(from + 2) + 1;
  else if (draft.isWord(from, "distinct") || draft.isWord(from, "all")) from++;
  return from <= select ? [] : draft.items(from);
}

/** Words after which a name is an operand, and not what a column is called. */
const operators = new Set(
  `and or not is in like ilike similar between collate zone distinct from escape symmetric any some all then else when
   interval`.split(/\s+/),
);

function itemName(draft: PostgresDraft, first: number, last: number): string | undefined {
  if (isAliased(draft, first, last)) return undefined;
  if (first === last && draft.isName(first) && !Object.hasOwn(constants, draft.nameAt(first))) return undefined;
  return figure(draft, first, last).name ?? namelessColumn;
}

function isAliased(draft: PostgresDraft, first: number, last: number): boolean {
  if (last === first || !draft.isName(last)) return false;
  const before = draft.tokens[last - 1]!;
  if (before.kind === "symbol") return draft.opening(last - 1) !== -1;
  // The words of a type: `::double precision`.
  if (typeWords.has(draft.nameAt(last)) && draft.tokens[last]!.kind === "word") return false;
  return before.kind !== "word" || !operators.has(before.text);
}

const typeWords = new Set(["precision", "varying", "zone", "end"]);

/** Words that are values, and what they are called. */
const constants: Readonly<Record<string, string | undefined>> = {
  null: undefined,
  true: undefined,
  false: undefined,
  current_date: "current_date",
  current_time: "current_time",
  current_timestamp: "current_timestamp",
  localtime: "localtime",
  localtimestamp: "localtimestamp",
};

/** The name of an expression, which is nothing where it has operators. */
function figure(draft: PostgresDraft, first: number, last: number): Figured {
  if (first > last) return nothing;
  let { name, isStrong, end } = primary(draft, first);
  while (end < last) {
    const next = end + 1;
    if (draft.isSymbol(next, "::")) {
      const type = typeAt(draft, next + 1, last);
      if (!isStrong) name = type.name;
      end = type.end;
    } else if (draft.isSymbol(next, "[") && draft.closing(next) !== -1) end = draft.closing(next);
    else if (draft.isSymbol(next, ".") && draft.isName(next + 1)) {
      [name, isStrong, end] = [draft.nameAt(next + 1), true, next + 1];
    } else if (draft.isWord(next, "collate")) end = next + (draft.isSymbol(next + 2, ".") ? 3 : 1);
    else if (draft.isWord(next, "at") && draft.isWord(next + 2, "zone")) {
      [name, isStrong, end] = ["timezone", true, draft.operandEnd(next + 3)];
    } else return nothing;
  }
  return end === last ? { name, isStrong } : nothing;
}

function primary(draft: PostgresDraft, at: number): Primary {
  const close = draft.closing(at);
  if (draft.isSymbol(at, "(")) return { ...bracketed(draft, at, close), end: close };
  if (draft.isWord(at, "case")) return { ...ofCase(draft, at, close), end: close };
  if (!draft.isName(at)) return { ...nothing, end: at };
  const word = draft.nameAt(at);
  const open = at + 1;
  const end = draft.closing(open);
  if (draft.isSymbol(open, "[") && word === "array") return { name: "array", isStrong: true, end };
  if (draft.isSymbol(open, "(") && end !== -1) return { ...ofCall(draft, at, end), end: callEnd(draft, end) };
  if (draft.tokens[at]!.kind === "word") {
    if (Object.hasOwn(constants, word))
      return { name: constants[word], isStrong: constants[word] !== undefined, end: at };
    const text = typedText(draft, at);
    if (text !== -1) return { name: typeAt(draft, at, text - 1).name, isStrong: false, end: text };
    if (word === "not") return { ...nothing, end: at };
  }
  if (draft.isSymbol(open, ".") && draft.isName(at + 2)) return primary(draft, at + 2);
  return { name: word, isStrong: true, end: at };
}

/** The string of `type 'text'`; -1 where there is none. */
function typedText(draft: PostgresDraft, at: number): number {
  const isLong = draft.isWord(at + 2, "time") && draft.isWord(at + 3, "zone");
  const text = isLong ? at + 4 : at + 1;
  return draft.tokens[text]?.kind === "string" ? text : -1;
}

function bracketed(draft: PostgresDraft, open: number, close: number): Figured {
  if (close === -1) return nothing;
  if (draft.isWord(open + 1, "select")) return ofSelect(draft, open + 1);
  return draft.commas(open).length > 0 ? { name: "row", isStrong: true } : figure(draft, open + 1, close - 1);
}

function ofSelect(draft: PostgresDraft, select: number): Figured {
  const [item] = listItems(draft, select);
  if (item === undefined) return nothing;
  const [first, last] = item;
  if (isAliased(draft, first, last)) return { name: draft.nameAt(last), isStrong: true };
  return { name: figure(draft, first, last).name, isStrong: true };
}

function ofCase(draft: PostgresDraft, at: number, close: number): Figured {
  let otherwise = -1;
  for (let i = at + 1; i < close; i++) {
    if (draft.closing(i) !== -1) i = draft.closing(i);
    else if (draft.isWord(i, "else")) otherwise = i;
  }
  const found = otherwise === -1 ? nothing : figure(draft, otherwise + 1, close - 1);
  return found.isStrong && found.name !== undefined ? found : { name: "case", isStrong: false };
}

function ofCall(draft: PostgresDraft, at: number, end: number): Figured {
  const word = draft.nameAt(at).toLowerCase();
  if (word !== "cast" && word !== "try_cast")
    return { name: word === "trim" ? trimName(draft, at) : word, isStrong: true };
  let as = at + 2;
  while (as < end && !draft.isWord(as, "as")) as = draft.closing(as) === -1 ? as + 1 : draft.closing(as) + 1;
  const found = figure(draft, at + 2, as - 1);
  return found.isStrong && found.name !== undefined
    ? found
    : { name: typeAt(draft, as + 1, end - 1).name, isStrong: false };
}

function trimName(draft: PostgresDraft, at: number): string {
  return draft.isWord(at + 2, "leading") ? "ltrim" : draft.isWord(at + 2, "trailing") ? "rtrim" : "btrim";
}

/** With what may follow a call: `filter (…)`, `within group (…)`, `over (…)`. */
function callEnd(draft: PostgresDraft, end: number): number {
  const isGroup = draft.isWord(end + 1, "within") && draft.isWord(end + 2, "group");
  const open = isGroup ? end + 3 : end + 2;
  if (!isGroup && !draft.isWord(end + 1, "filter") && !draft.isWord(end + 1, "over")) return end;
  if (draft.isSymbol(open, "(") && draft.closing(open) !== -1) return callEnd(draft, draft.closing(open));
  return draft.isWord(end + 1, "over") ? end + 2 : end;
}

/** Names of types that people write in another way than pg_type. */
const typeNames: Readonly<Record<string, string>> = {
  int: "int4",
  integer: "int4",
  bigint: "int8",
  smallint: "int2",
  boolean: "bool",
  real: "float4",
  float: "float8",
  double: "float8",
  "double precision": "float8",
  decimal: "numeric",
  dec: "numeric",
  char: "bpchar",
  character: "bpchar",
  "character varying": "varchar",
  "char varying": "varchar",
  "timestamp with time zone": "timestamptz",
  "timestamp without time zone": "timestamp",
  "time with time zone": "timetz",
  "time without time zone": "time",
};

/** The type that begins at a token, as pg_type calls it. */
function typeAt(draft: PostgresDraft, from: number, last: number): { readonly name: string; readonly end: number } {
  let at = draft.isSymbol(from + 1, ".") ? from + 2 : from;
  const isQuoted = draft.tokens[at]?.kind === "quoted";
  let name = draft.nameAt(at);
  for (; at < last; at++) {
    const next = at + 1;
    if (draft.isSymbol(next, "(") || draft.isSymbol(next, "[")) at = Math.max(draft.closing(next), next) - 1;
    else if (draft.isWord(next, "precision") || draft.isWord(next, "varying")) name += ` ${draft.nameAt(next)}`;
    else if (/^(?:with|without|time|zone)$/.test(draft.nameAt(next))) name += ` ${draft.nameAt(next)}`;
    else break;
  }
  return { name: !isQuoted && Object.hasOwn(typeNames, name) ? typeNames[name]! : name, end: at };
}
