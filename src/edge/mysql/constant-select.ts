import type { SqlColumnInfo } from "../../engine/sql/type.ts";
import { isName, isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { mysqlLimits } from "./limits.ts";
import type { Cell, Table } from "./rows.ts";
import { constant, splitAtCommas } from "./set-statement.ts";
import type { Variables } from "./variables.ts";

/** What a function about the session answers; undefined for any other function. */
export type SessionFunctions = (name: string) => Cell | undefined;

/**
 * A SELECT of constants, variables and functions about the session, which clients send when they connect or to see
 * whether the connection stands: answered without the engine, and without a database in use. Undefined for any other.
 */
export function constantSelect(
  source: string,
  tokens: readonly MysqlToken[],
  variables: Variables,
  functions: SessionFunctions,
): Table | undefined {
  const items = splitAtCommas(withoutTail(tokens.slice(1)));
  const columns: SqlColumnInfo[] = [];
  const row: Cell[] = [];
  let characters = 0;
  for (const item of items) {
    const found = constantItem(item, variables, functions);
    if (found === undefined) return undefined;
    const { value, used } = found;
    const label = labelOf(source, item, used);
    if (label === undefined) return undefined;
    // MySQL's own integers are of 64 bits too.
    const isInteger = typeof value === "number" && Number.isSafeInteger(value);
    columns.push({ name: label, type: { kind: value === null ? "null" : isInteger ? "int64" : "text" } });
    row.push(isInteger ? value : value === null ? null : String(value));
    if (typeof value === "string") characters += value.length;
    // The engine bounds its statements and its rows.
    if (characters > mysqlLimits.constantCharactersMax) return undefined;
  }
  return { columns, rows: [row] };
}

/** Without FROM DUAL and LIMIT, which change nothing of one row. */
function withoutTail(tokens: readonly MysqlToken[]): readonly MysqlToken[] {
  const { length } = tokens;
  const isLimit = isWord(tokens[length - 2], "LIMIT") && tokens[length - 1]!.value === "1";
  const rest = isLimit ? tokens.slice(0, -2) : tokens;
  const isDual = isWord(rest.at(-2), "FROM") && isWord(rest.at(-1), "DUAL");
  return isDual ? rest.slice(0, -2) : rest;
}

function constantItem(
  tokens: readonly MysqlToken[],
  variables: Variables,
  functions: SessionFunctions,
): { readonly value: Cell; readonly used: number } | undefined {
  const [first] = tokens;
  if (first === undefined) return undefined;
  if (first.kind === "word" && isOperator(tokens[1], "(") && isOperator(tokens[2], ")")) {
    const value = functions(first.value.toUpperCase());
    return value === undefined ? undefined : { value, used: 3 };
  }
  if (isWord(first, "TRUE", "FALSE")) return { value: isWord(first, "TRUE") ? 1 : 0, used: 1 };
  if (isWord(first, "CURRENT_USER")) return { value: functions("CURRENT_USER") ?? null, used: 1 };
  if (first.kind === "number" && !/^\d{1,15}$/.test(first.value)) return undefined;
  const value = constant(first, variables);
  return value === undefined ? undefined : { value, used: 1 };
}

/** `[[AS] label]`, else the text of the item. */
function labelOf(source: string, tokens: readonly MysqlToken[], used: number): string | undefined {
  const rest = tokens.slice(used);
  if (rest.length === 0) {
    const [first] = tokens;
    if (isText(first)) return first!.value;
    return source.slice(first!.start, tokens[used - 1]!.end);
  }
  const label = isWord(rest[0], "AS") ? rest[1] : rest[0];
  // Strings side by side are one, which the engine puts together.
  if (isText(tokens[0]) && isText(rest[0])) return undefined;
  const isLabel = isName(label) || isText(label);
  return isLabel && rest.length === (isWord(rest[0], "AS") ? 2 : 1) ? label!.value : undefined;
}

function isText(token: MysqlToken | undefined): boolean {
  return token?.kind === "string" || token?.kind === "doubled";
}
