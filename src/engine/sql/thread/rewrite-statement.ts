import type { FoundDocuments } from "../retrieval.ts";
import type { SqlParameter } from "../sql.ts";
import { typeName } from "../value.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import { type Edit, EditedQuery } from "./edits.ts";
import { type FoundColumns, foundColumns, writeFound } from "./found-rows.ts";
import type { Token } from "./lexer.ts";
import { columnList } from "./namespace-database.ts";
import { numberParameters } from "./parameters.ts";
import { quote, type StatementPlan, type TableRef } from "./plan-statement.ts";
import type { RetrievalRef } from "./retrieval-refs.ts";
import type { Statement } from "./statement.ts";

/** The statement with its tables and parameters under the names that they have here. */
export function rewritten(
  plan: StatementPlan,
  tables: readonly Edit[],
  params: readonly SqlParameter[],
  castAll = false,
) {
  const changed = [...plan.edits, ...tables];
  const isLeft = (token: Token) => !isWithin(token, changed);
  const { edits, indexes } = numberParameters(plan.query, plan.tokens, params, isLeft, castAll);
  return { edited: new EditedQuery(plan.query, [...changed, ...edits]), indexes };
}

/** Whether the text of an edit is gone with that of another. */
function isWithin({ start, end }: Pick<Edit, "start" | "end">, others: readonly Edit[]): boolean {
  return others.some((other) => other.start <= start && end <= other.end);
}

/** Puts what the retrievers found where the statement calls them. */
export async function showFound(
  statement: Statement,
  plan: StatementPlan,
  found: readonly FoundDocuments[],
): Promise<Edit[]> {
  const edits: Edit[] = [];
  for (const [i, ref] of plan.retrievals.entries()) {
    const columns = foundColumns(found[i]!.fields, plan.columns);
    const name = `found_${i}`;
    statement.tables.push(name);
    const connection = statement.connection!;
    await connection.run(`CREATE TEMP TABLE ${name} (${columnList(columns.all)})`);
    const rows = new ChunkWriter(connection.appender("temp", "main", name));
    writeFound(found[i]!, columns, rows);
    rows.close();
    edits.push(retrievalEdit(ref, `temp.main.${name}`));
  }
  return edits;
}

export function emptyEdit(ref: RetrievalRef, { all }: FoundColumns): Edit {
  const cells = all.map(({ name, type }) => `NULL::${typeName(type)} AS ${quote(name)}`);
  return retrievalEdit(ref, `(SELECT ${cells.join(", ")} WHERE false)`);
}

function retrievalEdit({ start, end, alias, call }: RetrievalRef, name: string): Edit {
  return { start, end, text: alias === undefined ? `${name} AS ${quote(call.name)}` : name };
}

/** A table under another name, which the rest of the statement does not notice. */
export function refEdit(ref: TableRef, name: string): Edit {
  const text = ref.alias === undefined ? `${name} AS ${quote(ref.name)}` : name;
  return { start: ref.start, end: ref.end, text };
}

/** The namespace's own name before a schema is left out. */
export function nameEdits(refs: readonly TableRef[]): Edit[] {
  return refs.filter(({ named }) => named).map((ref) => refEdit(ref, `${ref.schema}.${quote(ref.name)}`));
}
