import { Draft, quoteName, quoteText } from "./draft.ts";
import { rewriteFunctions, type SessionFunction } from "./functions.ts";
import { labelColumns } from "./labels.ts";
import { isName, isOperator, isWord, type MysqlToken } from "./lexer.ts";
import { type InformationTable, rewriteTables } from "./tables.ts";

/** What a statement of MySQL's dialect is read with. */
export interface MysqlContext {
  /** The database in use, if one is. */
  readonly database: string | undefined;
  /** A system variable as a SQL literal; throws for an unknown one. */
  variable(name: string): string;
  /** A variable of the session's own as a SQL literal. */
  userVariable(name: string): string;
  readonly sessionFunction: SessionFunction;
  readonly informationTable: InformationTable;
}

export interface MysqlRewrite {
  /** The same statement in the engine's dialect, with `$1`, `$2`, … for its parameters. */
  readonly query: string;
  /** Parameters of the client's; after them come the long strings. */
  readonly parameters: number;
  /** Strings that are too long to stand in the query, as further parameters. */
  readonly strings: readonly string[];
  /** The database whose tables it names, where that is not the one in use. */
  readonly database: string | undefined;
}

/**
 * A statement as MySQL's clients write it, for the engine. It works on words and not on a tree: what the engine's
 * own dialect reads alike is left as it stands, and what it can't read is refused by it.
 */
export function rewriteMysql(source: string, tokens: readonly MysqlToken[], context: MysqlContext): MysqlRewrite {
  const draft = new Draft(source, tokens);
  const parameters = tokens.filter(({ kind }) => kind === "parameter").length;
  const strings = quoteTokens(draft, context, parameters);
  rewriteOperators(draft);
  rewriteFunctions(draft, context.sessionFunction);
  rewriteLimit(draft);
  dropHints(draft);
  const database = rewriteTables(draft, context.database, context.informationTable);
  labelColumns(draft);
  rewriteHaving(draft);
  return { query: draft.text(), parameters, strings, database };
}

/** A string of more characters is handed over beside the query: reading it with the query would take long. */
const stringCharactersMax = 65_536;

function quoteTokens(draft: Draft, context: MysqlContext, parameters: number): string[] {
  const strings: string[] = [];
  let parameter = 0;
  for (let i = 0; i < draft.tokens.length; i++) {
    const token = draft.tokens[i]!;
    if (token.kind === "parameter") draft.out[i] = `$${++parameter}`;
    else if (isStringValue(draft, i)) {
      const last = lastOfStrings(draft, i);
      const value = last === i ? token.value : joinedValue(draft, i, last);
      draft.drop(i, last);
      const isLong = value.length > stringCharactersMax;
      draft.out[last] = isLong ? `$${parameters + strings.push(value)}` : quoteText(value);
      i = last;
    } else draft.out[i] = quoteToken(draft, i, token, context);
  }
  return strings;
}

/** A string that stands for a value, and not for a name. */
function isStringValue(draft: Draft, i: number): boolean {
  const kind = draft.tokens[i]?.kind;
  if (kind === "string") return !isAlias(draft, i);
  return kind === "doubled" && !isAlias(draft, i) && !isPlaceOfName(draft, i);
}

/** Strings side by side are one. */
function lastOfStrings(draft: Draft, first: number): number {
  let last = first;
  while (draft.tokens[last]!.kind === "string" && isStringValue(draft, last + 1)) last++;
  return last;
}

function joinedValue({ tokens }: Draft, first: number, last: number): string {
  const values: string[] = [];
  for (let i = first; i <= last; i++) values.push(tokens[i]!.value);
  return values.join("");
}

function quoteToken(draft: Draft, i: number, token: MysqlToken, context: MysqlContext): string {
  switch (token.kind) {
    case "name":
    case "string":
    case "doubled":
      return quoteName(token.value);
    case "hex":
      return `'${token.value.replaceAll(/../g, (pair) => `\\x${pair}`)}'::BLOB`;
    case "variable":
      return context.variable(token.value);
    case "user-variable":
      return context.userVariable(token.value);
    case "word":
      return isColumn(draft, i) ? quoteName(token.value) : token.value;
    default:
      return token.value;
  }
}

/** Words that MySQL takes for a column's name and the engine does not. */
const freeWords = [
  ...[
    "ANALYSE",
    "ANTI",
    "ANY",
    "ARRAY",
    "ASOF",
    "AT",
    "AUTHORIZATION",
    "COLLATION",
    "COLUMNS",
    "CONCURRENTLY",
    "FREEZE",
  ],
  ...["FULL", "GLOB", "MAP", "OFFSET", "OVERLAPS", "PIVOT", "PLACING", "POSITIONAL", "QUALIFY", "SEMI", "SIMILAR"],
  ...["STRUCT", "SUMMARIZE", "UNPACK", "UNPIVOT", "VARIADIC", "VERBOSE"],
];
const operandIntroductions = [
  ...["SELECT", "DISTINCT", "ALL", "BY", "WHERE", "HAVING", "ON", "AND", "OR", "NOT", "XOR", "LIKE", "BETWEEN", "IN"],
  ...["CASE", "WHEN", "THEN", "ELSE", "AS", "IS", "DIV", "MOD"],
];

function isColumn({ tokens }: Draft, i: number): boolean {
  if (!isWord(tokens[i], ...freeWords) || ["(", "[", "{"].some((open) => isOperator(tokens[i + 1], open))) return false;
  const before = tokens[i - 1];
  if (before?.kind === "operator") return before.value !== ")" && before.value !== "]";
  return isWord(before, ...operandIntroductions);
}

/** `… AS 'label'`. */
function isAlias({ tokens }: Draft, i: number): boolean {
  return isWord(tokens[i - 1], "AS");
}

/** Beside a dot, or where a table is named. */
function isPlaceOfName({ tokens }: Draft, i: number): boolean {
  return (
    isOperator(tokens[i - 1], ".") || isOperator(tokens[i + 1], ".") || isWord(tokens[i - 1], "FROM", "JOIN", "TABLE")
  );
}

const words: Readonly<Record<string, string>> = { "<=>": "IS NOT DISTINCT FROM", "&&": "AND" };

function rewriteOperators(draft: Draft): void {
  const { tokens, out } = draft;
  for (const [i, token] of tokens.entries()) {
    if (token.kind === "operator" && words[token.value] !== undefined) out[i] = ` ${words[token.value]} `;
    else if (isOperator(token, "!") && !isOperator(tokens[i + 1], "=")) out[i] = " NOT ";
    else if (isWord(token, "DIV") && isOperand(tokens[i - 1])) out[i] = "//";
    else if (isWord(token, "MOD") && isOperand(tokens[i - 1]) && !isOperator(tokens[i + 1], "(")) out[i] = "%";
    else if (isWord(token, "REGEXP", "RLIKE")) rewriteRegexp(draft, i);
  }
}

function isOperand(token: MysqlToken | undefined): boolean {
  if (token === undefined) return false;
  return token.kind !== "operator" || token.value === ")";
}

/** MySQL's finds a part of the text in any case; the engine's `~` wants the whole and minds the case. */
function rewriteRegexp({ tokens, out }: Draft, i: number): void {
  const pattern = tokens[i + 1];
  if (pattern === undefined || (pattern.kind !== "string" && pattern.kind !== "doubled")) return;
  const negated = isWord(tokens[i - 1], "NOT");
  if (negated) out[i - 1] = "";
  out[i] = negated ? "!~" : "~";
  out[i + 1] = quoteText(`(?is).*(?:${pattern.value}).*`);
}

/** `LIMIT skip, count`. */
function rewriteLimit({ tokens, out }: Draft): void {
  for (const [i, token] of tokens.entries()) {
    if (!isWord(token, "LIMIT") || !isOperator(tokens[i + 2], ",") || tokens[i + 3] === undefined) continue;
    const skip = out[i + 1]!;
    out[i + 1] = out[i + 3]!;
    out[i + 2] = " OFFSET ";
    out[i + 3] = skip;
  }
}

const aggregates = ["COUNT", "SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT", "STD", "STDDEV", "VARIANCE", "ANY_VALUE"];

/** A HAVING where nothing is grouped is a condition on the columns of the result, as tools use it. */
function rewriteHaving(draft: Draft): void {
  const { tokens, out } = draft;
  let depth = 0;
  let having = -1;
  let order = tokens.length;
  let limit = tokens.length;
  for (const [i, token] of tokens.entries()) {
    if (isOperator(token, "(")) depth++;
    else if (isOperator(token, ")")) depth--;
    if (isWord(token, ...aggregates) && isOperator(tokens[i + 1], "(")) return;
    if (depth === 0 && isWord(token, "GROUP", "UNION", "WITH")) return;
    if (depth !== 0) continue;
    if (isWord(token, "HAVING")) having = i;
    else if (isWord(token, "ORDER")) order = i;
    else if (isWord(token, "LIMIT")) limit = i;
  }
  if (having === -1 || !isWord(tokens[0], "SELECT")) return;
  // The order may be by columns that the result has not.
  const ordered = order < limit ? draft.text(order, limit) : "";
  if (order < limit) draft.drop(order, limit);
  out[0] = `SELECT * FROM (${out[0]}`;
  out[having] = `${ordered}) AS "result" WHERE`;
}

const selectHints = [
  "SQL_NO_CACHE",
  "SQL_CACHE",
  "SQL_CALC_FOUND_ROWS",
  "SQL_SMALL_RESULT",
  "SQL_BIG_RESULT",
  "SQL_BUFFER_RESULT",
  "HIGH_PRIORITY",
  "STRAIGHT_JOIN",
];
const collation = /^(?:utf8|utf8mb3|utf8mb4|latin1|ascii|binary)(?:_|$)/i;

/** What tells MySQL how to run a statement, and means nothing here. */
function dropHints(draft: Draft): void {
  const { tokens, out } = draft;
  for (const [i, token] of tokens.entries()) {
    const next = tokens[i + 1];
    if (isWord(token, ...selectHints) && isWord(tokens[i - 1], "SELECT", ...selectHints)) out[i] = "";
    else if (isWord(token, "STRAIGHT_JOIN")) out[i] = "JOIN";
    else if (isWord(token, "FROM") && isWord(next, "DUAL")) draft.drop(i, i + 2);
    else if (isWord(token, "COLLATE") && isName(next) && collation.test(next!.value)) draft.drop(i, i + 2);
    else if (
      token.kind === "word" &&
      /^_(?:utf8|utf8mb4|latin1|binary)$/i.test(token.value) &&
      next?.kind === "string"
    ) {
      out[i] = "";
    } else if (isWord(token, "BINARY") && isOperandStart(next) && !isWord(tokens[i - 1], "AS")) out[i] = "";
    else if (isLock(tokens, i)) {
      draft.drop(i, tokens.length);
      return;
    }
  }
}

/** `LOCK IN SHARE MODE` and `FOR UPDATE`, with which a statement ends. */
function isLock(tokens: readonly MysqlToken[], i: number): boolean {
  const next = tokens[i + 1];
  if (isWord(tokens[i], "LOCK")) return isWord(next, "IN") && isWord(tokens[i + 2], "SHARE");
  return isWord(tokens[i], "FOR") && isWord(next, "UPDATE", "SHARE");
}

function isOperandStart(token: MysqlToken | undefined): boolean {
  return isName(token) || token?.kind === "string" || isOperator(token, "(");
}
