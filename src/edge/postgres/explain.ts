import type { SqlResult } from "../../engine/sql/sql.ts";
import type { SqlColumnInfo } from "../../engine/sql/type.ts";
import { planText } from "../wire/plan-text.ts";
import type { StatementText } from "./dialect/lexer.ts";
import { madeStatement } from "./dialect/lexer.ts";
import { PostgresError } from "./error.ts";
import { textResult } from "./local-result.ts";
import { TokenReader } from "./token-reader.ts";

export type ExplainFormat = "text" | "json";

/**
 *     EXPLAIN [ ANALYZE ] [ VERBOSE ] statement
 *     EXPLAIN ( option [ value ], … ) statement
 *
 * Undefined for any other statement. What is explained may be an EXECUTE, so it is left to be read.
 */
export function parseExplain(
  statement: StatementText,
): { readonly prefix: string; readonly at: number; readonly format: ExplainFormat } | undefined {
  const reader = new TokenReader(statement.tokens);
  if (reader.word() !== "explain") return undefined;
  let runs = false;
  let format = "text";
  if (reader.isSymbol("(")) {
    reader.expectSymbol("(");
    do {
      const name = reader.name().toLowerCase();
      const value = reader.isSymbol(",") || reader.isSymbol(")") ? "true" : reader.value().toLowerCase();
      if (name === "format") format = value;
      else if (name === "analyze") runs = !/^(?:false|off|0)$/.test(value);
      else if (!options.has(name)) throw new PostgresError("42601", `unrecognized EXPLAIN option "${name}"`);
    } while (reader.skipSymbol(","));
    reader.expectSymbol(")");
  } else {
    runs = reader.skip("analyze") || reader.skip("analyse");
    reader.skip("verbose");
  }
  if (format !== "text" && format !== "json") {
    throw new PostgresError("0A000", `EXPLAIN in the format ${format} is not supported; there are text and json`);
  }
  const chosen = [...(runs ? ["ANALYZE"] : []), ...(format === "json" ? ["FORMAT json"] : [])];
  return { prefix: chosen.length === 0 ? "EXPLAIN " : `EXPLAIN (${chosen.join(", ")}) `, at: reader.position, format };
}

const options = new Set("verbose costs settings buffers wal timing summary generic_plan memory serialize".split(" "));

/** The statement in the engine's words; `rest` is what is explained. */
export function explainedStatement(prefix: string, rest: string, start: number): StatementText {
  const statement = madeStatement(prefix + rest, start - prefix.length);
  if (statement === undefined) throw new PostgresError("42601", "syntax error at end of input");
  return statement;
}

export function planColumns(format: ExplainFormat): readonly SqlColumnInfo[] {
  return [{ name: "QUERY PLAN", type: { kind: format === "json" ? "json" : "text" } }];
}

/** The engine's plan as Postgres gives one: a line a row, or the tree of its nodes as one value. */
export async function planResult(result: SqlResult, format: ExplainFormat): Promise<SqlResult> {
  await using plan = result;
  const text = await planText(plan);
  const rows =
    format === "json" ? [JSON.stringify([{ Plan: planNode(JSON.parse(text)) }])] : text.trimEnd().split("\n");
  return textResult(
    "explain",
    planColumns(format),
    rows.map((row) => [row]),
  );
}

interface Node {
  readonly name?: string;
  readonly operator_name?: string;
  readonly children?: readonly Node[];
  readonly extra_info?: unknown;
}

function planNode(input: Node | readonly Node[]): Record<string, unknown> {
  const [first, ...more] = Array.isArray(input) ? (input as readonly Node[]) : [input as Node];
  const children = [...(first?.children ?? []), ...more];
  return {
    "Node Type": first?.name ?? first?.operator_name ?? "Result",
    ...(typeof first?.extra_info === "object" ? { "Extra Info": first.extra_info } : {}),
    ...(children.length === 0 ? {} : { Plans: children.map(planNode) }),
  };
}
