import type { Draft } from "./draft.ts";
import { isOperator, isWord } from "./lexer.ts";

/** What a function about the session answers, as a SQL literal; undefined for any other function. */
export type SessionFunction = (name: string) => string | undefined;

/** Functions that MySQL has and the engine has under another name or in another form. */

type Form = (draft: Draft, name: number, close: number) => void;

/** `name(` becomes another name. */
const renamed: Readonly<Record<string, string>> = {
  UCASE: "upper",
  LCASE: "lower",
  CHAR_LENGTH: "length",
  CHARACTER_LENGTH: "length",
  RAND: "random",
  POW: "power",
};

const forms: Readonly<Record<string, Form>> = {
  ISNULL: (draft, name, close) => {
    draft.out[name] = "";
    draft.out[close] = ") IS NULL";
  },
  CURDATE: (draft, name, close) => replaceCall(draft, name, close, "current_date"),
  UTC_DATE: (draft, name, close) => replaceCall(draft, name, close, "current_date"),
  UNIX_TIMESTAMP: (draft, name, close) => {
    if (close === name + 2) replaceCall(draft, name, close, "epoch(now())::BIGINT");
    else unixTime(draft, name, close);
  },
  FROM_UNIXTIME: (draft, name) => {
    draft.out[name] = "to_timestamp";
  },
  UPPER: textOfCase,
  LOWER: textOfCase,
  DATEDIFF: (draft, name, close) => {
    if (commas(draft, name + 1, close).length === 1) draft.out[name] = "days_between";
  },
  TIMESTAMPDIFF: (draft, name) => {
    const unit = draft.tokens[name + 2];
    if (unit?.kind !== "word") return;
    draft.out[name] = "date_sub";
    draft.out[name + 2] = `'${unit.value.toLowerCase()}'`;
  },
  DATE_SUB: subtract,
  SUBDATE: subtract,
  ADDDATE: (draft, name) => {
    draft.out[name] = "date_add";
  },
  DATE_FORMAT: (draft, name, close) => formatDate(draft, name, close, "strftime"),
  STR_TO_DATE: (draft, name, close) => formatDate(draft, name, close, "strptime"),
  GROUP_CONCAT: groupConcat,
  CONVERT: convert,
  CAST: (draft, name, close) => castType(draft, name + 2, close),
};

/** What the time is, in whole seconds or with as many digits as the brackets say. */
const clocks: Readonly<Record<string, (instant: string) => string>> = {
  NOW: (instant) => instant,
  SYSDATE: (instant) => instant,
  CURRENT_TIMESTAMP: (instant) => instant,
  LOCALTIME: (instant) => instant,
  LOCALTIMESTAMP: (instant) => instant,
  UTC_TIMESTAMP: (instant) => `(${instant} AT TIME ZONE 'UTC')`,
  CURTIME: (instant) => `CAST((${instant} AT TIME ZONE 'UTC') AS TIME)`,
  CURRENT_TIME: (instant) => `CAST((${instant} AT TIME ZONE 'UTC') AS TIME)`,
  UTC_TIME: (instant) => `CAST((${instant} AT TIME ZONE 'UTC') AS TIME)`,
};

/** Those that need no brackets. */
export const bareClocks = ["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_TIME"];

function clockText(name: string, digits: number): string {
  const instant =
    digits === 0 ? "date_trunc('second', now())" : digits > 3 ? "now()" : "date_trunc('millisecond', now())";
  return clocks[name]!(instant);
}

/** `NOW(6)`: the digits that stand in the brackets; -1 where something else does. */
function clockDigits({ tokens }: Draft, name: number, close: number): number {
  if (close === name + 2) return 0;
  return close === name + 3 && /^[0-6]$/.test(tokens[name + 2]!.value) ? Number(tokens[name + 2]!.value) : -1;
}

/** The seconds of an instant, which a text may tell. */
function unixTime({ tokens, out }: Draft, name: number, close: number): void {
  const argument = tokens[name + 2]!;
  const isText = close === name + 3 && (argument.kind === "string" || argument.kind === "doubled");
  out[name] = "epoch";
  if (!isText) return;
  out[name + 1] = "(CAST(";
  out[close] = argument.value.includes(".") ? " AS TIMESTAMP))" : " AS TIMESTAMP))::BIGINT";
}

export function rewriteFunctions(draft: Draft, sessionFunction: SessionFunction): void {
  const { tokens } = draft;
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== "word" || isOperator(tokens[i - 1], ".")) continue;
    const name = token.value.toUpperCase();
    if (!isOperator(tokens[i + 1], "(")) {
      // Functions without parentheses.
      if (name === "CURRENT_USER") draft.out[i] = sessionFunction(name) ?? draft.out[i]!;
      else if (bareClocks.includes(name) && !isWord(tokens[i - 1], "AS")) draft.out[i] = clockText(name, 0);
      continue;
    }
    const close = draft.closing(i + 1);
    if (close === -1) continue;
    const literal = close === i + 2 ? sessionFunction(name) : undefined;
    const digits = Object.hasOwn(clocks, name) ? clockDigits(draft, i, close) : -1;
    if (literal !== undefined) replaceCall(draft, i, close, literal);
    else if (digits !== -1) replaceCall(draft, i, close, clockText(name, digits));
    else if (Object.hasOwn(forms, name)) forms[name]!(draft, i, close);
    else if (Object.hasOwn(renamed, name)) draft.out[i] = renamed[name]!;
  }
}

function replaceCall(draft: Draft, name: number, close: number, text: string): void {
  draft.drop(name, close + 1);
  draft.out[name] = text;
}

/** Indexes of the commas between the arguments. */
function commas(draft: Draft, open: number, close: number): number[] {
  return [...draft.between(open + 1, close)].filter((i) => isOperator(draft.tokens[i], ","));
}

/** Drivers ask for the upper case of numbers, by a CASE of both. */
function textOfCase(draft: Draft, name: number, close: number): void {
  if (!isWord(draft.tokens[name + 2], "CASE")) return;
  draft.out[name + 1] = "(CAST(";
  draft.out[close] = " AS VARCHAR))";
}

/** `DATE_SUB(day, INTERVAL 1 DAY)`; the engine's function of that name is another one. */
function subtract(draft: Draft, name: number, close: number): void {
  const [comma] = commas(draft, name + 1, close);
  if (comma === undefined || !isWord(draft.tokens[comma + 1], "INTERVAL")) return;
  draft.out[name] = "";
  draft.out[comma] = " - ";
}

/** MySQL's letters for the parts of a date, where they are not those of C. */
const dateLetters: Readonly<Record<string, string>> = {
  i: "%M",
  s: "%S",
  M: "%B",
  W: "%A",
  c: "%-m",
  e: "%-d",
  h: "%I",
  k: "%-H",
  l: "%-I",
  r: "%I:%M:%S %p",
  T: "%H:%M:%S",
  v: "%V",
  x: "%G",
};

function formatDate(draft: Draft, name: number, close: number, to: string): void {
  const [comma] = commas(draft, name + 1, close);
  const format = comma === undefined ? undefined : draft.tokens[comma + 1];
  if (comma === undefined || (format?.kind !== "string" && format?.kind !== "doubled")) return;
  const text = format.value.replaceAll(/%(.)/g, (_, letter: string) => dateLetters[letter] ?? `%${letter}`);
  draft.out[comma + 1] = `'${text.replaceAll("'", "''")}'`;
  draft.out[name] = to;
  if (to !== "strftime") return;
  draft.out[name + 1] = "(CAST(";
  draft.out[comma] = " AS TIMESTAMP), ";
}

/** `GROUP_CONCAT(a ORDER BY b SEPARATOR ';')`: the separator comes before the order. */
function groupConcat(draft: Draft, name: number, close: number): void {
  const { tokens, out } = draft;
  out[name] = "string_agg";
  let order = close;
  let separator = "','";
  for (const i of draft.between(name + 2, close)) {
    if (isWord(tokens[i], "ORDER") && isWord(tokens[i + 1], "BY")) order = i;
    else if (isWord(tokens[i], "SEPARATOR") && tokens[i + 1] !== undefined) {
      separator = out[i + 1]!;
      draft.drop(i, i + 2);
    }
  }
  out[order] = order === close ? `, ${separator})` : `, ${separator} ${out[order]}`;
}

const castTypes: Readonly<Record<string, string>> = {
  SIGNED: "BIGINT",
  UNSIGNED: "UBIGINT",
  CHAR: "VARCHAR",
  NCHAR: "VARCHAR",
  BINARY: "BLOB",
  DATETIME: "TIMESTAMP",
  DOUBLE: "DOUBLE",
};

function castType(draft: Draft, from: number, close: number): void {
  let last = -1;
  for (const i of draft.between(from, close)) if (isWord(draft.tokens[i], "AS")) last = i;
  if (last !== -1) typeName(draft, last + 1, close);
}

/** The length of `CHAR(10)` and the like goes with the name: nothing is cut here. */

function typeName({ tokens, out }: Draft, at: number, close: number): void {
  const token = tokens[at];
  const to = token?.kind === "word" ? castTypes[token.value.toUpperCase()] : undefined;
  if (to === undefined) return;
  out.fill("", at, close);
  out[at] = to;
}

/** `CONVERT(a, SIGNED)` is a cast; `CONVERT(a USING utf8mb4)` is `a`. */
function convert(draft: Draft, name: number, close: number): void {
  const { tokens, out } = draft;
  const using = [...draft.between(name + 2, close)].find((i) => isWord(tokens[i], "USING"));
  if (using !== undefined) {
    out[name] = "";
    draft.drop(using, close);
    return;
  }
  const comma = commas(draft, name + 1, close).at(-1);
  if (comma === undefined) return;
  out[name] = "CAST";
  out[comma] = " AS ";
  typeName(draft, comma + 1, close);
}
