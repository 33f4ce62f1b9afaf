import { type FoundColumns, type FoundSchemas, foundColumns, writeFound } from "../../found-rows.ts";
import type { FoundDocuments } from "../../retrieval.ts";
import type { SqlParameter } from "../../sql.ts";
import { typeName } from "../../value.ts";
import type { Value } from "../duckdb.ts";
import { type Edit, EditedQuery, quote } from "../edits.ts";
import type { Token } from "../plan/lexer.ts";
import type { RetrievalRef } from "../plan/retrieval-refs.ts";
import type { StatementPlan } from "../plan/statement-plan.ts";
import { ChunkWriter } from "../tables/chunk-writer.ts";
import { columnList } from "../tables/namespace-database.ts";
import { foundLists } from "./found-lists.ts";
import { numberParameters } from "./parameters.ts";
import type { Statement } from "./statement.ts";

/** A part of the statement whose text takes parameters of its own, after all of the statement's. */
export interface FilledEdit extends Omit<Edit, "text"> {
  readonly values: readonly Value[];
  /** Its text, with the number of its first parameter. */
  textFrom(first: number): string;
}

export interface RewrittenStatement {
  readonly edited: EditedQuery;
  /** The index among the given values of DuckDB's parameter 1, 2, …. */
  readonly indexes: readonly number[];
  /** What the parameters after those are filled with. */
  readonly more: readonly Value[];
}

/** The statement with its tables and parameters under the names that they have here. */
export function rewritten(
  plan: StatementPlan,
  tables: readonly Edit[],
  params: readonly SqlParameter[],
  { castAll = false, filled = [] }: { castAll?: boolean; filled?: readonly FilledEdit[] } = {},
): RewrittenStatement {
  const changed = [...plan.edits, ...tables];
  const gone = [...changed, ...filled];
  const isLeft = (token: Token) => !isWithin(token, gone);
  const { edits, indexes } = numberParameters(plan.query, plan.tokens, params, isLeft, castAll);
  let first = indexes.length + 1;
  for (const { start, end, values, textFrom } of filled) {
    changed.push({ start, end, text: textFrom(first) });
    first += values.length;
  }
  const more = filled.flatMap(({ values }) => values);
  return { edited: new EditedQuery(plan.query, [...changed, ...edits]), indexes, more };
}

/** Whether the text of an edit is gone with that of another. */
function isWithin({ start, end }: Omit<Edit, "text">, others: readonly Omit<Edit, "text">[]): boolean {
  return others.some((other) => other.start <= start && end <= other.end);
}

/** What stands where the statement calls its retrievers. */
export interface ShownFound {
  readonly edits: readonly Edit[];
  readonly filled: readonly FilledEdit[];
}

/**
 * Puts what the retrievers found where the statement calls them: a little of it as parameters, which takes one call of
 * the library where a table takes four.
 */
export async function showFound(
  statement: Statement,
  plan: StatementPlan,
  found: readonly FoundDocuments[],
  schemas: FoundSchemas,
): Promise<ShownFound> {
  const edits: Edit[] = [];
  const filled: FilledEdit[] = [];
  for (const [i, ref] of plan.retrievals.entries()) {
    const columns = foundColumns(schemas.columnsOf(found[i]!), plan.columns);
    const lists = foundLists(found[i]!, columns);
    if (lists !== undefined) {
      const textFrom = (first: number) => retrievalEdit(ref, lists.textFrom(first)).text;
      filled.push({ start: ref.start, end: ref.end, values: lists.values, textFrom });
      continue;
    }
    const name = `found_${i}`;
    statement.tables.push(name);
    const connection = statement.connection!;
    await connection.run(`CREATE TEMP TABLE ${name} (${columnList(columns.all)})`);
    const rows = new ChunkWriter(connection.appender("temp", "main", name));
    writeFound(found[i]!, columns, rows);
    rows.close();
    edits.push(retrievalEdit(ref, `temp.main.${name}`));
  }
  return { edits, filled };
}

export function emptyEdit(ref: RetrievalRef, { all }: FoundColumns): Edit {
  const cells = all.map(({ name, type }) => `NULL::${typeName(type)} AS ${quote(name)}`);
  return retrievalEdit(ref, `(SELECT ${cells.join(", ")} WHERE false)`);
}

function retrievalEdit({ start, end, alias, call }: RetrievalRef, name: string): Edit {
  return { start, end, text: alias === undefined ? `${name} AS ${quote(call.name)}` : name };
}
