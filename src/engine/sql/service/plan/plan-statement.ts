import { Brackets } from "../../brackets.ts";
import type { Dialect } from "../../dialect.ts";
import { sqlFault } from "../../fault.ts";
import type { StatementText } from "../../messages.ts";
import { checkTokens } from "../../statement-limits.ts";
import { characterAt } from "../edits.ts";
import { bareOffsets, withOffset } from "./bare-offset.ts";
import { type Token, tokenize } from "./lexer.ts";
import { type Explained, Planner, sideOf } from "./planner.ts";
import type { StatementPlan } from "./statement-plan.ts";
import type { TreeNode } from "./syntax-tree.ts";

/** The answer of `json_serialize_sql`. */
export interface SerializedSql {
  readonly error: boolean;
  readonly error_type?: string;
  readonly error_message?: string;
  readonly position?: string | number;
  readonly statements?: readonly TreeNode[];
}

export type Parse = (query: string) => Promise<SerializedSql>;

export async function planStatement(
  text: StatementText,
  dialect: Dialect | undefined,
  parse: Parse,
): Promise<StatementPlan> {
  const { query } = text;
  const tokens = tokenize(query);
  if (tokens.length === 0) throw sqlFault("syntax", "is empty");
  checkTokens(tokens.length, query.length);
  const side = (i: number) => sideOf(query, tokens[i]!);
  new Brackets(tokens.length, side, (i) => tokens[i]!.start);
  const explained = explainedFrom(query, tokens);
  // White space in place of EXPLAIN keeps every place in the text what it is.
  const body = explained === undefined ? query : " ".repeat(explained.start) + query.slice(explained.start);
  const { parsed, edits } = await parseLeniently(body, tokens, parse);
  return new Planner(text, dialect, query, tokens, only(parsed, body), explained, edits).plan();
}

/** Parses a query; where it can't be, OFFSET as a column is what it may have meant. */
async function parseLeniently(query: string, tokens: readonly Token[], parse: Parse) {
  const parsed = await parse(query);
  const offsets = parsed.error ? bareOffsets(query, tokens) : undefined;
  if (offsets === undefined) return { parsed, edits: [] };
  const again = await parse(offsets.parseable);
  // The parser that got further reports the error.
  if (again.error && !(Number(again.position) > Number(parsed.position))) return { parsed, edits: [] };
  return { parsed: withOffset(again, offsets.placeholder) as SerializedSql, edits: offsets.edits };
}

function only(parsed: SerializedSql, query: string): TreeNode {
  if (parsed.error) {
    const message = parsed.error_message ?? "can't be parsed";
    if (parsed.error_type === "not implemented" && message.startsWith("Only SELECT")) {
      throw sqlFault("read_only", "only SELECT, WITH, EXPLAIN, DESCRIBE and SHOW can be run");
    }
    const position = parsed.position === undefined ? undefined : characterAt(query, Number(parsed.position));
    throw sqlFault(parsed.error_type === "parser" ? "syntax" : "unsupported", message, { position });
  }
  const [statement, more] = parsed.statements ?? [];
  if (statement === undefined) throw sqlFault("syntax", "is empty");
  if (more !== undefined) throw sqlFault("unsupported", "must be one statement");
  return statement;
}

function explainedFrom(query: string, tokens: readonly Token[]): Explained | undefined {
  const word = (i: number) => {
    const token = tokens[i];
    return token === undefined ? "" : query.slice(token.start, token.end).toLowerCase();
  };
  if (word(0) !== "explain") return undefined;
  let at = 1;
  let runs = false;
  if (word(at) === "analyze") {
    runs = true;
    at++;
  } else if (word(at) === "(") {
    while (at < tokens.length && word(at) !== ")") runs = word(at++) === "analyze" || runs;
    at++;
  }
  const first = tokens[at];
  if (first === undefined) throw sqlFault("syntax", "EXPLAIN needs a statement", { position: query.length });
  return { start: first.start, runs };
}
