import { EngineError } from "../../../errors.ts";
import type { DescribeReply } from "../../messages.ts";
import type { SqlParameter, SqlValue } from "../../sql.ts";
import type { SqlColumnInfo, SqlType } from "../../type.ts";
import { typeName } from "../../value.ts";
import { columnType, parameterType } from "../duck-type.ts";
import type { Prepared } from "../duckdb.ts";
import type { Edit, EditedQuery } from "../edits.ts";
import type { StatementPlan } from "../plan/statement-plan.ts";
import { rewritten } from "./rewrite-statement.ts";

type Prepare = (edited: EditedQuery) => Promise<Prepared>;
type ParameterTypes = DescribeReply["parameters"][number][];

/** What a parameter is taken for, one after another, where nothing tells its type. */
const guesses: readonly SqlType[] = [
  { kind: "text" },
  { kind: "int64" },
  { kind: "list", item: { kind: "text" } },
  { kind: "list", item: { kind: "int64" } },
  // Fits wherever a NULL does, and tells nothing of columns that are the parameter itself.
  { kind: "null" },
];

/**
 * The columns and parameters of a statement. While a parameter has no type, DuckDB names no columns: they are then
 * those of the statement with a parameter of the type that its value has, or of one that fits.
 */
export async function describeStatement(
  plan: StatementPlan,
  edits: readonly Edit[],
  params: readonly SqlParameter[],
  prepare: Prepare,
): Promise<DescribeReply> {
  const first = await describeAs(plan, edits, [], prepare);
  if (first.unknown.length === 0) return first;
  for (const guess of guesses) {
    const attempt: SqlParameter[] = [];
    for (const at of first.unknown) attempt[at] = { value: "", type: typeOf(params[at]?.value) ?? guess };
    try {
      const { columns } = await describeAs(plan, edits, attempt, prepare);
      return { columns: columns.map((column) => uncast(column, attempt)), parameters: first.parameters };
    } catch (error) {
      if (!(error instanceof EngineError) || error.reason !== "invalid_argument") throw error;
    }
  }
  return first;
}

interface Described extends DescribeReply {
  /** Parameters of the statement, but for its retrievers, that have no type. */
  readonly unknown: readonly number[];
}

async function describeAs(
  plan: StatementPlan,
  edits: readonly Edit[],
  params: readonly SqlParameter[],
  prepare: Prepare,
): Promise<Described> {
  const { edited, indexes } = rewritten(plan, edits, params, { castAll: true });
  const prepared = await prepare(edited);
  const columns = prepared.columns.map(({ name, type }) => ({ name, type: columnType(type).type }));
  const parameters: ParameterTypes = new Array(plan.needs.parameters).fill(undefined);
  const unknown: number[] = [];
  prepared.parameters.forEach((name, i) => {
    const at = indexes[Number(name) - 1]!;
    parameters[at] = parameterType(prepared.parameterType(i + 1));
    if (parameters[at] === undefined) unknown.push(at);
  });
  return { columns, parameters, unknown };
}

/** A column without a name of its own has that of its expression, shown as it was written. */
function uncast({ name, type }: SqlColumnInfo, params: readonly SqlParameter[]): SqlColumnInfo {
  const types = new Set(params.filter((param) => param !== undefined).map((param) => typeName(param.type!)));
  let shown = name;
  for (const each of types) {
    const cast = new RegExp(`CAST\\((\\$\\d+) AS "?${each.replace(/[^\w ]/g, "\\$&")}"?\\)`, "g");
    shown = shown.replace(cast, "$1");
  }
  return { name: shown, type };
}

function typeOf(value: SqlValue | undefined): SqlType | undefined {
  switch (typeof value) {
    case "boolean":
      return { kind: "boolean" };
    case "number":
      return { kind: Number.isSafeInteger(value) ? "int64" : "float64" };
    case "bigint":
      return { kind: "int64" };
    case "string":
      return { kind: "text" };
    default:
      return undefined;
  }
}
