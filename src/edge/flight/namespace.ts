import { invalid } from "../../engine/errors.ts";
import { tableSchemas } from "../../engine/sql/columns.ts";

/** Finds out which namespace a statement is about where the call does not say: by the tables that it names. */

const schemas: readonly string[] = [...tableSchemas, "information_schema"];

/** Words with which a statement reads some table. */
const reading = new Set(["from", "join", "describe", "desc", "show", "table", "summarize", "pivot", "unpivot"]);

interface Token {
  readonly kind: "word" | "name" | "dot" | "other";
  readonly text: string;
}

/** What is skipped (spaces, comments, texts), then names with and without quotes; anything else is one character. */
const lexer =
  /(?<skip>\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|\$(?<tag>[A-Za-z_]\w*|)\$[\s\S]*?(?:\$\k<tag>\$|$))|"(?<name>(?:[^"]|"")*)(?:"|$)|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|(?<dot>\.)|[\s\S]/gy;

function tokensOf(query: string): Token[] {
  const tokens: Token[] = [];
  for (const { 0: text, groups = {} } of query.matchAll(lexer)) {
    const { skip, name, word, dot } = groups;
    if (skip !== undefined) continue;
    if (name !== undefined) tokens.push({ kind: "name", text: name.replaceAll('""', '"') });
    else if (word !== undefined) tokens.push({ kind: "word", text: word });
    else tokens.push({ kind: dot === undefined ? "other" : "dot", text });
  }
  return tokens;
}

function isName(token: Token | undefined): token is Token {
  return token?.kind === "word" || token?.kind === "name";
}

export interface NamedNamespaces {
  /** As in `ns.collections.c`. */
  readonly namespaces: readonly string[];
  /** Whether it reads tables at all. */
  readonly readsTables: boolean;
}

export function namespacesIn(query: string): NamedNamespaces {
  const tokens = tokensOf(query);
  const found = new Set<string>();
  for (let i = 0; i + 4 < tokens.length; i++) {
    const [first, schema] = [tokens[i], tokens[i + 2]];
    if (!isName(first) || !isName(schema) || !isName(tokens[i + 4])) continue;
    if (tokens[i + 1]?.kind !== "dot" || tokens[i + 3]?.kind !== "dot") continue;
    // `x.collections.c` inside a longer path is no table.
    if (tokens[i - 1]?.kind === "dot" || !schemas.includes(schema.text.toLowerCase())) continue;
    found.add(first.text);
  }
  const readsTables = tokens.some(({ kind, text }) => kind === "word" && reading.has(text.toLowerCase()));
  return { namespaces: [...found], readsTables };
}

/** The one namespace of a statement, of those that exist; undefined when any will do, as it reads no table. */
export function namespaceIn(query: string, existing: readonly string[]): string | undefined {
  const { namespaces, readsTables } = namespacesIn(query);
  // A column of a struct can look like a table.
  const found = namespaces.filter((each) => existing.includes(each));
  if (found.length > 1) throw invalid("query", `names ${found.length} namespaces; a statement reads one`);
  if (found.length === 0 && readsTables) {
    throw invalid("namespace", "send the call header namespace, or name tables as namespace.collections.name");
  }
  return found[0];
}
