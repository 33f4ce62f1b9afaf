import { informationSchema } from "./catalog.ts";
import { isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";

/** A statement over tables without rows, without its GROUP BY: tools group by less than DuckDB demands. */
export function withoutGroups(tokens: readonly MysqlToken[]): readonly MysqlToken[] {
  const from = tokens.findIndex((token, i) => isWord(token, "GROUP") && isWord(tokens[i + 1], "BY"));
  if (from === -1 || tokens.some((token) => isWord(token, "UNION", "COUNT", "SUM", "MAX", "MIN"))) return tokens;
  const after = tokens.findIndex((token, i) => i > from && isWord(token, "ORDER", "LIMIT"));
  return [...tokens.slice(0, from), ...(after === -1 ? [] : tokens.slice(after))];
}

/**
 * The databases that a statement over information_schema can be about: where each of its tables is compared with the
 * name of one, those alone, so that a client that asks for one table does not pay for all.
 */
export function narrowed(
  tokens: readonly MysqlToken[],
  tables: number,
  databases: readonly string[],
): readonly string[] {
  const names = new Set<string>();
  let compared = 0;
  let references = 0;
  for (const [i, token] of tokens.entries()) {
    if (isWord(token, "OR", "UNION", "NOT") || isOperator(token, "||")) return databases;
    if (token.value.toLowerCase() === informationSchema) references++;
    if (!/^(?:table|schema|constraint|index)_(?:schema|name)$/i.test(token.value)) continue;
    if (!/^(?:table_schema|schema_name)$/i.test(token.value) || !isOperator(tokens[i + 1], "=")) continue;
    const value = tokens[i + 2];
    if (value?.kind !== "string" && value?.kind !== "doubled") continue;
    compared++;
    names.add(value.value);
  }
  if (compared === 0 || compared < Math.max(tables, references)) return databases;
  return databases.filter((name) => names.has(name));
}
