import { isTableSchema, type TableSchema } from "../../../engine/sql/columns.ts";
import { nameOf, type StatementText, type Token } from "./lexer.ts";

/** The single table that a statement reads, and for each item of its select list its column, `*` or undefined. */
export interface PlainOrigin {
  /** Undefined where the search path decides. */
  readonly schema: TableSchema | undefined;
  readonly table: string;
  readonly items: readonly (string | undefined)[];
}

const clauses = new Set(["where", "order", "limit", "offset", "fetch", "group", "having"]);
const elsewhere = new Set(["union", "except", "intersect", "join", "into", "pivot", "unpivot"]);

/** Of `SELECT a, t.b AS c, f(d), * FROM [schema.]table [AS t] …`; undefined for what is not as plain. */
export function plainOrigin({ tokens }: StatementText): PlainOrigin | undefined {
  if (tokens[0]?.kind !== "word" || tokens[0].text !== "select") return undefined;
  const items = listItems(tokens);
  if (items === undefined) return undefined;
  let at = items.end + 1;
  const hasSchema = isSymbol(tokens[at + 1], ".");
  const schema = hasSchema ? nameAt(tokens, at)?.toLowerCase() : undefined;
  if (hasSchema && (schema === undefined || !isTableSchema(schema))) return undefined;
  if (hasSchema) at += 2;
  const table = nameAt(tokens, at);
  if (table === undefined) return undefined;
  at++;
  if (tokens[at]?.text === "as") at++;
  const alias = isEnd(tokens[at]) ? table : nameAt(tokens, at++);
  if (alias === undefined || !isEnd(tokens[at]) || !isOneSelect(tokens, at)) return undefined;
  return {
    schema: schema as TableSchema | undefined,
    table,
    items: items.parts.map((part) => columnOf(part, alias)),
  };
}

function isSymbol(token: Token | undefined, text: string): boolean {
  return token?.kind === "symbol" && token.text === text;
}

function isEnd(token: Token | undefined): boolean {
  return token === undefined || (token.kind === "word" && clauses.has(token.text));
}

function nameAt(tokens: readonly Token[], i: number): string | undefined {
  const token = tokens[i];
  return token?.kind === "word" || token?.kind === "quoted" ? nameOf(token) : undefined;
}

/** The parts between the commas before FROM. */
function listItems(tokens: readonly Token[]): { readonly parts: Token[][]; readonly end: number } | undefined {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (let i = 1; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (isSymbol(token, "(") || isSymbol(token, "[")) depth++;
    else if (isSymbol(token, ")") || isSymbol(token, "]")) depth--;
    const isWord = depth === 0 && token.kind === "word";
    if (isWord && token.text === "from") return { parts, end: i };
    if (isWord && (token.text === "distinct" || elsewhere.has(token.text))) return undefined;
    if (depth === 0 && isSymbol(token, ",")) parts.push([]);
    else parts.at(-1)!.push(token);
  }
  return undefined;
}

function isOneSelect(tokens: readonly Token[], from: number): boolean {
  return !tokens.slice(from).some(({ kind, text }) => kind === "word" && elsewhere.has(text));
}

/** `a`, `t.a`, `a AS b`, `a b`, `*`, `t.*` */
function columnOf(part: readonly Token[], alias: string): string | undefined {
  const isQualified = isSymbol(part[1], ".");
  if (isQualified && nameAt(part, 0) !== alias) return undefined;
  const [column, ...rest] = isQualified ? part.slice(2) : part;
  if (isSymbol(column, "*")) return rest.length === 0 ? "*" : undefined;
  const name = column === undefined ? undefined : nameAt([column], 0);
  const label = rest[0]?.text === "as" ? rest.slice(1) : rest;
  if (name === undefined || label.length > 1) return undefined;
  return rest.length === 0 || nameAt(label, 0) !== undefined ? name : undefined;
}
