import type { SqlResult } from "../../engine/sql/sql.ts";
import { planText } from "../wire/plan-text.ts";
import { isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { type Table, textColumns } from "./rows.ts";

/** A plan is one text, as MySQL's own is that has a tree to show. */
export const planColumns = textColumns("EXPLAIN");

export function isExplain(tokens: readonly MysqlToken[]): boolean {
  return isWord(tokens[0], "EXPLAIN", "DESCRIBE", "DESC");
}

/** `EXPLAIN FORMAT=… SELECT` and DESCRIBE of a statement, as the engine's EXPLAIN. */
export function explained(tokens: readonly MysqlToken[]): readonly MysqlToken[] {
  if (!isExplain(tokens)) return tokens;
  const first = tokens[0]!;
  let from = 1;
  let format: readonly MysqlToken[] = [];
  while (isWord(tokens[from], "EXTENDED", "PARTITIONS")) from++;
  if (isWord(tokens[from], "FORMAT") && isOperator(tokens[from + 1], "=")) {
    if (isWord(tokens[from + 2], "JSON")) format = [{ ...first, kind: "operator", value: "(FORMAT JSON)" }];
    from += 3;
  }
  return [{ ...first, value: "EXPLAIN" }, ...format, ...tokens.slice(from)];
}

export async function planTable(result: SqlResult): Promise<Table> {
  await using plan = result;
  return { columns: planColumns, rows: [[(await planText(plan)).trimEnd()]] };
}
