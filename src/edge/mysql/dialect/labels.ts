import { type Draft, quoteName } from "./draft.ts";
import { bareClocks } from "./functions.ts";
import { isName, isOperator, isWord, type MysqlToken } from "./lexer.ts";

const labelCharactersMax = 256;
const listEnds = [
  "FROM",
  "WHERE",
  "GROUP",
  "HAVING",
  "ORDER",
  "LIMIT",
  "UNION",
  "INTERSECT",
  "EXCEPT",
  "INTO",
  "WINDOW",
  "QUALIFY",
  "FOR",
  "LOCK",
  "OFFSET",
];
/** Words that can end an expression, so that they are no alias of it. */
const valueWords = ["NULL", "TRUE", "FALSE", "END", "UNKNOWN"];
/** What ends a value that was begun; a name after one is its alias. */
const closers = [")", "]", "}"];

/** MySQL calls a column by the text of its expression, and programs ask for `COUNT(*)` by that name. */
export function labelColumns(draft: Draft): void {
  const { tokens } = draft;
  const first = tokens.findIndex((token) => !isOperator(token, "("));
  if (!isWord(tokens[first], "SELECT")) return;
  let start = first + 1;
  if (isWord(tokens[start], "DISTINCT", "ALL")) start++;
  if (isWord(tokens[start], "ON")) return;
  let depth = 0;
  for (let i = start; i <= tokens.length; i++) {
    const token = tokens[i];
    if (isOperator(token, "(") || isOperator(token, "[") || isOperator(token, "{")) depth++;
    else if (isOperator(token, ")") || isOperator(token, "]") || isOperator(token, "}")) depth--;
    // The list's end: a clause, the end, or the parenthesis around the whole.
    const ends =
      token === undefined || depth < 0 || (depth === 0 && isWord(token, ...listEnds) && !isDistinct(tokens, i));
    if (!ends && !(depth === 0 && isOperator(token, ","))) continue;
    labelItem(draft, start, i);
    if (ends) return;
    start = i + 1;
  }
}

/** `a IS DISTINCT FROM b`. */
function isDistinct(tokens: readonly MysqlToken[], i: number): boolean {
  return isWord(tokens[i], "FROM") && isWord(tokens[i - 1], "DISTINCT");
}

function labelItem(draft: Draft, start: number, end: number): void {
  const { tokens, out, source } = draft;
  if (end - start === 0) return;
  if (!needsLabel(tokens, start, end)) {
    if (isBareKeyword(tokens, start, end)) out[end - 1] = `AS ${quoteName(tokens[end - 1]!.value)}`;
    return;
  }
  let last = end - 1;
  while (last > start && out[last] === "") last--;
  // A string alone is called by what it says.
  const isText = tokens.slice(start, end).every(isString);
  const text = isText ? tokens[start]!.value : source.slice(tokens[start]!.start, tokens[end - 1]!.end);
  out[last] = `${out[last]} AS ${quoteName(text.slice(0, labelCharactersMax) || " ")}`;
}

function isString({ kind }: MysqlToken): boolean {
  return kind === "string" || kind === "doubled";
}

/** Only what is surely an expression without an alias; in doubt the engine's own name stays. */
function needsLabel(tokens: readonly MysqlToken[], start: number, end: number): boolean {
  const first = tokens[start]!;
  const last = tokens[end - 1]!;
  const before = tokens[end - 2];
  if (isString(last) && isWord(before, "LIKE", "REGEXP", "RLIKE", "AND", "OR")) return true;
  // A column, a star with or without its exceptions, and what stands for several columns.
  if (tokens.slice(start, end).every((token) => isName(token) || token.kind === "doubled" || isOperator(token, "."))) {
    return (
      end - start === 1 && (first.kind === "doubled" || isWord(first, ...valueWords, ...bareClocks, "CURRENT_USER"))
    );
  }
  if (tokens.slice(start, Math.min(end, start + 6)).some((token, i) => isStar(token, i, tokens, start))) return false;
  if (isWord(first, "COLUMNS", "UNNEST", "UNPACK")) return false;
  if (last.kind === "variable" || last.kind === "user-variable" || last.kind === "parameter") return true;
  if (last.kind === "number" || last.kind === "hex") return true;
  if (closers.some((closer) => isOperator(last, closer))) return true;
  if (isWord(last, ...valueWords)) return true;
  const afterOperator = before?.kind === "operator" && before.value !== "." && !closers.includes(before.value);
  if (isString(last)) {
    if (tokens.slice(start, end).every(isString)) return true;
    const isTyped = isWord(before, "DATE", "TIME", "TIMESTAMP") && !isOperator(tokens[end - 3], ".");
    return end - start === 1 || afterOperator || isTyped;
  }
  return isName(last) && afterOperator;
}

/** Words that MySQL takes for an alias without AS and DuckDB does not. */
const keywordAliases =
  "TYPE NAME NAMES VALUE KEY INDEX COMMENT SCHEMA DATABASE VERSION OPTION OPTIONS LEVEL DATA ROLE SOURCE STATISTICS SCOPE CATALOG LANGUAGE SECURITY SHARE STORAGE SYSTEM TEMPORARY TRANSACTION VIEW WORK ZONE".split(
    " ",
  );
/** Words after which a name is an operand. */
const operandStarts =
  "AND OR NOT XOR LIKE RLIKE REGEXP IN IS BETWEEN DIV MOD BINARY COLLATE ESCAPE CASE WHEN THEN ELSE ZONE AS DISTINCT".split(
    " ",
  );

function isBareKeyword(tokens: readonly MysqlToken[], start: number, end: number): boolean {
  const before = tokens[end - 2];
  if (end - start < 2 || before === undefined || !isWord(tokens[end - 1], ...keywordAliases)) return false;
  const endsValue = before.kind !== "operator" || closers.includes(before.value);
  return endsValue && !isWord(before, ...operandStarts);
}

function isStar(token: MysqlToken, i: number, tokens: readonly MysqlToken[], start: number): boolean {
  return isOperator(token, "*") && (i === 0 || isOperator(tokens[start + i - 1], "."));
}
