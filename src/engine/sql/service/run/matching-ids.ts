import type { CollectionColumn } from "../../columns.ts";
import { sqlFault } from "../../fault.ts";
import { foundColumns } from "../../found-rows.ts";
import type { CollectionTable, TableDefinition } from "../../messages.ts";
import type { SqlParameter } from "../../sql.ts";
import { columnType } from "../duck-type.ts";
import { DuckError, type Prepared } from "../duckdb.ts";
import { EditedQuery, quote } from "../edits.ts";
import { tokenize } from "../plan/lexer.ts";
import type { NamedItem, OwnTerm } from "../plan/own-terms.ts";
import type { RetrievalRef } from "../plan/retrieval-refs.ts";
import type { StatementPlan } from "../plan/statement-plan.ts";
import type { TreeNode } from "../plan/syntax-tree.ts";
import { readChunk } from "../result/read-chunk.ts";
import type { OpenNamespace } from "../tables/statement-tables.ts";
import { bindAll, numberParameters } from "./parameters.ts";
import type { Statement } from "./statement.ts";

/** Documents that a retriever may be restricted to. */
const idsMax = 10_000_000;

interface CheckRequest {
  readonly retrieval: number;
  readonly terms: readonly number[];
  readonly tables: readonly TableDefinition[];
  readonly params: readonly SqlParameter[];
}

interface Opened {
  readonly statement: Statement;
  readonly namespace: OpenNamespace;
}

type TextOf = (node: TreeNode) => Promise<string>;

/** What DuckDB says of a name or a type that is not what it was taken for. */
const misread = new Set(["Binder", "Catalog", "Parser", "Syntax", "Parameter Not Resolved", "Not implemented"]);

/**
 * The documents of a collection that meet terms of a retriever, in ascending order. Undefined when the terms are not
 * about its own columns: the statement itself then reports their faults.
 */
export async function matchingIds(
  open: Opened,
  plan: StatementPlan,
  request: CheckRequest,
  textOf: TextOf,
): Promise<Float64Array | undefined> {
  const ref = plan.retrievals[request.retrieval]!;
  const table = request.tables.find((each) => each.schema === "collections");
  if (table === undefined) return undefined;
  const chosen = new Set(request.terms.map((i) => ref.terms[i]!));
  const { collections } = open.namespace;
  const isKnown = knownTo(ref, collections.columnsOf(table));
  const asks = [...chosen].filter(isKnown);
  if (asks.length === 0) return undefined;
  try {
    return await idsOf(open, plan, ref, table, asks, request.params, textOf);
  } catch (error) {
    if (!(error instanceof DuckError)) throw error;
    if (misread.has(error.type) && !/table|view/i.test(error.entry ?? "")) return undefined;
    // A value that one term can't be asked of may be one that another term, which a filter said, keeps away from it.
    const all = ref.terms.filter(isKnown);
    if (all.length === asks.length) throw error;
    return idsOf(open, plan, ref, table, all, request.params, textOf);
  }
}

/** Whether the collection has everything that a term names. */
function knownTo(ref: RetrievalRef, columns: readonly { readonly name: string }[]): (term: OwnTerm) => boolean {
  const names = new Set([...columns.map(({ name }) => name.toLowerCase()), ...ref.renamed]);
  const has = ({ bare, qualified }: Pick<OwnTerm, "bare" | "qualified">) =>
    [...bare, ...qualified].every((name) => names.has(name));
  const items = new Set(ref.items.filter(has).map(({ name }) => name));
  return ({ bare, qualified }) =>
    bare.every((name) => names.has(name) || items.has(name)) && qualified.every((name) => names.has(name));
}

async function idsOf(
  { statement, namespace }: Opened,
  plan: StatementPlan,
  ref: RetrievalRef,
  table: CollectionTable,
  terms: readonly OwnTerm[],
  params: readonly SqlParameter[],
  textOf: TextOf,
): Promise<Float64Array> {
  const { collections } = namespace;
  const columns = collections.columnsOf(table);
  const known = new Set(columns.map(({ name }) => name.toLowerCase()));
  const named = new Set(terms.flatMap(({ bare }) => bare).filter((name) => !known.has(name)));
  const items = ref.items.filter(({ name }) => named.has(name));
  const used = [...terms, ...items].flatMap(({ bare, qualified }) => [...bare, ...qualified]);
  // Under other names it is unknown which of the columns are used.
  await collections.load(table, { all: ref.renamed.length > 0, names: new Set(used) }, statement.check);
  const place = collections.shadowed(table) ?? `collections.${quote(table.name)}`;
  const query = await textFor(ref, plan, columns, terms, items, place, textOf);
  const { edits, indexes } = numberParameters(query, tokenize(query), params, () => true);
  await statement.begin();
  const prepared = await statement.busy(statement.connection!.prepare(new EditedQuery(query, edits).text));
  try {
    bindAll(prepared, indexes, params);
    return await readIds(statement, prepared);
  } finally {
    prepared.close();
  }
}

/** The retriever's columns, of all documents, under the names that the statement has for them. */
async function textFor(
  ref: RetrievalRef,
  plan: StatementPlan,
  columns: readonly CollectionColumn[],
  terms: readonly OwnTerm[],
  items: readonly NamedItem[],
  from: string,
  textOf: TextOf,
): Promise<string> {
  const { all } = foundColumns(columns, plan.columns);
  const shown = all.map(({ name }) => (name === "_score" ? 'NULL::DOUBLE AS "_score"' : quote(name)));
  const renamed = ref.renamed.length === 0 ? "" : `(${ref.renamed.map(quote).join(", ")})`;
  const id = quote(ref.renamed[0] ?? "_id");
  const name = quote(ref.alias ?? ref.call.name);
  const listed = await Promise.all(items.map(async (item) => `${await textOf(item.node)} AS ${quote(item.name)}`));
  const conditions = await Promise.all(terms.map(async ({ node }) => `(${await textOf(node)})`));
  const selected = [`${name}.${id}`, ...listed].join(", ");
  return `SELECT ${selected} FROM (SELECT ${shown.join(", ")} FROM ${from}) AS ${name}${renamed} WHERE ${conditions.join(" AND ")}`;
}

async function readIds(statement: Statement, prepared: Prepared): Promise<Float64Array> {
  const result = await statement.busy(prepared.stream());
  const types = result.columns.slice(0, 1).map(({ type }) => columnType(type));
  const parts: BigInt64Array[] = [];
  let count = 0;
  for (;;) {
    statement.check();
    const chunk = await statement.chunkOf(result, prepared);
    if (chunk === undefined) break;
    const column = readChunk(types, chunk).columns[0]!;
    if (column.layout !== "fixed" || !(column.data instanceof BigInt64Array))
      throw new Error("ids are 64-bit integers");
    parts.push(column.data.subarray(0, chunk.rows));
    count += chunk.rows;
    if (count > idsMax) {
      const what = `more than ${idsMax} documents meet the conditions of a retriever`;
      throw sqlFault("too_many_rows", `${what}; narrow them with one on a keyword, number or date field`);
    }
  }
  const ids = new Float64Array(count);
  let at = 0;
  for (const part of parts) for (const id of part) ids[at++] = Number(id);
  return ids.sort();
}
