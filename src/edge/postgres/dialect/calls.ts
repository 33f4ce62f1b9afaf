import { rewriteLookup } from "./casts.ts";
import { catalogSchema } from "./catalog.ts";
import type { Call, PostgresDraft } from "./draft.ts";
import { rewriteFormat, rewriteToChar, rewriteToDate } from "./formats.ts";
import { functionNames } from "./functions.ts";
import { aliasAt, columnOf, hasAlias, isItem } from "./items.ts";
import { stringOf } from "./lexer.ts";

/** Functions that DuckDB has under another name. */
const functionAliases: Readonly<Record<string, string>> = {
  json_build_object: "json_object",
  jsonb_build_object: "json_object",
  json_build_array: "json_array",
  jsonb_build_array: "json_array",
  json_agg: "json_group_array",
  jsonb_agg: "json_group_array",
  json_object_agg: "json_group_object",
  jsonb_object_agg: "json_group_object",
  jsonb_array_length: "json_array_length",
  jsonb_pretty: "json_pretty",
  to_jsonb: "to_json",
  char_length: "length",
  character_length: "length",
  every: "bool_and",
  regexp_like: "regexp_matches",
};

/** What a call becomes; gives how many tokens were dealt with. */
export function rewriteCall(draft: PostgresDraft, call: Call): number {
  const { first, last, name } = call;
  const done = last - first + 1;
  const special = Object.hasOwn(specials, name) ? specials[name] : undefined;
  if (special?.(draft, call) === true) return done;
  const alias = Object.hasOwn(functionAliases, name) ? functionAliases[name]! : undefined;
  const text = alias ?? (functionNames.has(name) ? `${catalogSchema}.${name}` : name);
  if (text !== name || first !== last) draft.replace(first, last, text);
  nameItem(draft, call);
  return done;
}

/** A column of a subquery that is a call is called by it, and the statement around may say so. */
function nameItem(draft: PostgresDraft, { first, name, end }: Call): void {
  const isWindow = draft.isWord(end + 1, "over") && draft.isSymbol(end + 2, "(");
  const last = isWindow ? draft.closing(end + 2) : end;
  if (last === -1 || draft.around(first) === -1 || !isItem(draft, first, last)) return;
  draft.insertAfter(last, ` AS "${name.replaceAll('"', '""')}"`);
}

type Special = (draft: PostgresDraft, call: Call) => boolean;

/** Functions that give rows: what their arguments become where the rows are columns of a select, and in FROM. */
const sets: Readonly<Record<string, readonly [before: string, after: string, column: string]>> = {
  generate_series: ["generate_series(", ")", ""],
  unnest: ["", "", ""],
  generate_subscripts: [`${catalogSchema}.subscripts(`, ")", "generate_subscripts"],
  jsonb_array_elements: ["json_extract(", ", '$[*]')", "value"],
  json_array_elements: ["json_extract(", ", '$[*]')", "value"],
  jsonb_array_elements_text: ["json_extract_string(", ", '$[*]')", "value"],
  json_array_elements_text: ["json_extract_string(", ", '$[*]')", "value"],
  jsonb_object_keys: ["json_keys(", ")", "jsonb_object_keys"],
  json_object_keys: ["json_keys(", ")", "json_object_keys"],
  string_to_table: ["string_to_array(", ")", "string_to_table"],
  regexp_split_to_table: ["regexp_split_to_array(", ")", "regexp_split_to_table"],
};

/** Functions of one value that clients read like tables. */
const readAsTables = [
  "string_to_array",
  "regexp_split_to_array",
  "current_schemas",
  "parse_ident",
  "now",
  "lower",
  "upper",
  "pg_postmaster_start_time",
  "pg_size_pretty",
  "current_schema",
];

function rewriteSet(draft: PostgresDraft, { first, last, name, end }: Call): boolean {
  const [before, after, column] = sets[name]!;
  const clause = draft.clauseOf(first);
  if (end === -1 || draft.isSymbol(last + 2, ")")) return false;
  if (name === "generate_series") stepInterval(draft, last + 1, end);
  if (clause === "from") {
    if (name === "unnest" && zipped(draft, first, last, end)) return true;
    if (column === "") {
      nameColumn(draft, end);
      return false;
    }
    draft.replace(first, last + 1, `(SELECT unnest(${before}`);
    draft.replace(
      end,
      end,
      `${after}) AS ${columnOf(draft, end, column)})${hasAlias(draft, end) ? "" : ` AS ${name}`}`,
    );
    return true;
  }
  if (draft.listToken(first) === -1 || isList(draft, first, end, name)) return false;
  const isGrouped = draft.isGrouped(first);
  if (isGrouped) draft.moveToFrom(first, end, isItem(draft, first, end) ? ` AS ${name}` : "");
  if (before === "") return isGrouped;
  draft.replace(first, last + 1, `unnest(${before}`);
  draft.replace(end, end, `${after})${!isGrouped && isItem(draft, first, end) ? ` AS ${name}` : ""}`);
  return true;
}

/** The step of instants may be a text: `generate_series(a, b, '1 day')`. */
function stepInterval(draft: PostgresDraft, open: number, end: number): void {
  const step = draft.commas(open)[1] ?? end;
  if (step + 2 === end && draft.tokens[step + 1]!.kind === "string") draft.insertBefore(step + 1, "INTERVAL ");
}

/** DuckDB's own series is a list: what takes lists may have it so, `list_sum(generate_series(1, 3))`. */
function isList(draft: PostgresDraft, first: number, end: number, name: string): boolean {
  if (name !== "generate_series" || draft.clauseOf(first) === "select") return false;
  return (
    draft.isSymbol(end + 1, "[") ||
    /^(?:list_|array_(?!agg)|unnest$|len$|cardinality$)/.test(draft.nameAt(draft.around(first) - 1))
  );
}

/** `unnest(a, b) [WITH ORDINALITY]`: the lists side by side. */
function zipped(draft: PostgresDraft, first: number, last: number, end: number): boolean {
  const commas = draft.commas(last + 1);
  if (commas.length === 0) return false;
  const isNumbered = draft.isWord(end + 1, "with") && draft.isWord(end + 2, "ordinality");
  draft.replace(first, last, `(SELECT *${isNumbered ? ", row_number() OVER ()" : ""} FROM (SELECT unnest`);
  for (const comma of commas) draft.replace(comma, comma, "), unnest(");
  draft.replace(end, isNumbered ? end + 2 : end, ")))");
  return true;
}

/** In Postgres the other name of a function's rows is their column's too. */
function nameColumn(draft: PostgresDraft, end: number): void {
  const at = aliasAt(draft, end);
  if (at === -1 || draft.isSymbol(at + 1, "(")) return;
  const { start, end: stop } = draft.tokens[at]!;
  draft.insertAfter(at, `(${draft.text.slice(start, stop)})`);
}

/** `FROM f(x)` of a function that gives one value. */
function rewriteReadAsTable(draft: PostgresDraft, { first, last, name, end }: Call): boolean {
  const before = draft.tokens[first - 1]?.text;
  if (draft.clauseOf(first) !== "from" || end === -1 || draft.isSymbol(last + 2, ")")) return false;
  if (before !== "from" && before !== "," && before !== "join" && before !== "lateral") return false;
  const column = columnOf(draft, end, name);
  draft.insertBefore(first, "(SELECT ");
  draft.insertAfter(end, ` AS ${column})${hasAlias(draft, end) ? "" : ` AS ${name}`}`);
  return false;
}

/** `overlay(a placing b from 2 [for 3])` */
function rewriteOverlay(draft: PostgresDraft, { first, last, end }: Call): boolean {
  if (end === -1) return false;
  draft.replace(first, last, `${catalogSchema}.overlay`);
  for (let at = last + 2; at < end; at++) {
    const close = draft.closing(at);
    if (close !== -1) at = close;
    else if (["placing", "from", "for"].includes(draft.tokens[at]!.text)) draft.replace(at, at, ",");
  }
  return true;
}

/** `substring(a from 'pattern')` */
function rewriteSubstring(draft: PostgresDraft, { first, last, end }: Call): boolean {
  const pattern = draft.tokens[end - 1];
  if (pattern?.kind !== "string" || !draft.isWord(end - 2, "from")) return false;
  draft.replace(first, last, `${catalogSchema}.substring_match`);
  draft.replace(end - 2, end - 2, ",");
  draft.insertAfter(end - 1, /\((?!\?)/.test(stringOf(pattern)) ? ", 1" : ", 0");
  return true;
}

const transactionNumbers = new Set([
  "xmin",
  "xmax",
  "datfrozenxid",
  "relfrozenxid",
  "datminmxid",
  "relminmxid",
  "backend_xmin",
  "backend_xid",
]);

/** The age of a transaction is a number; that of an instant an interval. */
function rewriteAge(draft: PostgresDraft, { first, last, end }: Call): boolean {
  const argument = draft.tokens[end - 1]?.text ?? "";
  if (!transactionNumbers.has(argument) && argument !== "xid") return false;
  draft.replace(first, last, `${catalogSchema}.xid_age`);
  if (isItem(draft, first, end)) draft.insertAfter(end, " AS age");
  return true;
}

function rewritePartCall(draft: PostgresDraft, { first, last, name, end }: Call): boolean {
  const isDone = rewritePart(draft, first, last + 1);
  if (isItem(draft, first, end)) draft.insertAfter(end, ` AS ${name}`);
  return isDone;
}

const specials: Readonly<Record<string, Special>> = {
  ...Object.fromEntries(Object.keys(sets).map((name) => [name, rewriteSet])),
  ...Object.fromEntries(readAsTables.map((name) => [name, rewriteReadAsTable])),
  format: rewriteFormat,
  to_char: rewriteToChar,
  to_date: rewriteToDate,
  to_timestamp: rewriteToDate,
  overlay: rewriteOverlay,
  substring: rewriteSubstring,
  age: rewriteAge,
  to_regclass: rewriteLookup,
  to_regtype: rewriteLookup,
  to_regnamespace: rewriteLookup,
  extract: rewritePartCall,
  date_part: rewritePartCall,
};

/** Parts of a date that DuckDB counts with a year 0. */
const partsWithYear = new Set(["year", "isoyear", "decade"]);

/** `extract(year from x)` and `date_part('year', x)`, whose brackets open at token `open`. */
function rewritePart(draft: PostgresDraft, first: number, open: number): boolean {
  const part = draft.tokens[open + 1];
  const name = part?.kind === "string" ? stringOf(part).toLowerCase() : (part?.text ?? "");
  const isParted = draft.isWord(open + 2, "from") || draft.isSymbol(open + 2, ",");
  if (!isParted || !partsWithYear.has(name)) return false;
  draft.replace(first, open + 2, `${catalogSchema}.part_${name}(`);
  return true;
}
