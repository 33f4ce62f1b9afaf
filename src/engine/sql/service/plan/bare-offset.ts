import type { Edit } from "../edits.ts";
import { nameOf, type Token } from "./lexer.ts";

/** Words after which an operand stands. */
const introductions = new Set([
  ...["select", "distinct", "by", "where", "having", "qualify", "on", "and", "or", "not", "like", "ilike", "between"],
  ...["in", "is", "case", "when", "then", "else"],
]);

/** A query in which OFFSET stands for the column of a stream's table, in a form that can be parsed. */
export interface BareOffsets {
  /** As long as the query: the column has a name of the same length that is no word of SQL. */
  readonly parseable: string;
  readonly placeholder: string;
  /** The column in quotes. */
  readonly edits: readonly Edit[];
}

/** DuckDB keeps OFFSET for itself, and streams have a column of that name. Only for what could not be parsed as it is. */
export function bareOffsets(query: string, tokens: readonly Token[]): BareOffsets | undefined {
  const places = tokens.filter((_, i) => isColumn(query, tokens, i));
  const placeholder = "bcdefghijk".split("").find((letter) => !query.includes(`offse${letter}`));
  if (places.length === 0 || placeholder === undefined) return undefined;
  const name = `offse${placeholder}`;
  let parseable = "";
  let at = 0;
  for (const { start, end } of places) {
    parseable += query.slice(at, start) + name;
    at = end;
  }
  return {
    parseable: parseable + query.slice(at),
    placeholder: name,
    edits: places.map(({ start, end }) => ({ start, end, text: '"offset"' })),
  };
}

/** What was parsed, or why it could not be, with the column's own name. */
export function withOffset(tree: unknown, placeholder: string): unknown {
  if (typeof tree === "string") return tree.replaceAll(placeholder, "offset");
  if (Array.isArray(tree)) return tree.map((each) => withOffset(each, placeholder));
  if (typeof tree !== "object" || tree === null) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, withOffset(value, placeholder)]));
}

function isColumn(query: string, tokens: readonly Token[], i: number): boolean {
  const token = tokens[i]!;
  if (token.kind !== "word" || nameOf(query, token).toLowerCase() !== "offset") return false;
  const before = tokens[i - 1];
  const after = tokens[i + 1];
  if (before === undefined || (after !== undefined && query[after.start] === "(")) return false;
  if (before.kind === "sign") return ![")", "]", "}", "."].includes(query.slice(before.start, before.end));
  return before.kind === "word" && introductions.has(nameOf(query, before).toLowerCase());
}
