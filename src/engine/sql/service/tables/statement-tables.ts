import type { Reader, Store } from "../../../../port/store.ts";
import { decodeDocument } from "../../../collection/document-codec.ts";
import { saturate } from "../../../link/counter-sum.ts";
import { readCounters } from "../../../link/counter-target.ts";
import { linkColumns, streamColumns } from "../../columns.ts";
import { documentCells } from "../../document-cells.ts";
import type { FoundSchemas } from "../../found-rows.ts";
import { liveColumns } from "../../live-columns.ts";
import type { CollectionTable, TableDefinition } from "../../messages.ts";
import type { FoundRows } from "../../retrieval.ts";
import type { SqlSettings } from "../../settings.ts";
import type { SqlColumnInfo } from "../../type.ts";
import { typeName } from "../../value.ts";
import type { Connection } from "../duckdb.ts";
import { type Edit, quote } from "../edits.ts";
import { nameEdits, refEdit, type StatementPlan, type TableRef } from "../plan/statement-plan.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import type { CollectionTables } from "./collection-tables.ts";
import { writeLiveDocuments } from "./live-rows.ts";
import { columnList, type NamespaceDatabase } from "./namespace-database.ts";
import { type StreamBudget, writeRecords } from "./stream-rows.ts";

/** A namespace that statements are run in. */
export interface OpenNamespace {
  readonly database: NamespaceDatabase;
  readonly collections: CollectionTables;
  /** Views of what is no collection, and what made them, by `schema.name`. */
  readonly views: Map<string, string>;
}

/** Where the tables of one statement alone are made. */
interface StatementScope {
  readonly connection: Connection | undefined;
  readonly tables: string[];
  /** Throws when the statement was stopped. */
  readonly check: () => void;
}

interface Reads {
  readonly store: Store;
  readonly settings: SqlSettings;
}

export async function defineAll(
  open: OpenNamespace,
  tables: readonly TableDefinition[],
  catalog: readonly TableDefinition[] | undefined,
): Promise<void> {
  await define(open, [...tables, ...(catalog ?? [])]);
  if (catalog !== undefined) await dropOthers(open, catalog);
}

/** Brings the rows of the tables into reach; returns how the statement names them. */
export async function loadTables(
  { store, settings }: Reads,
  { statement, namespace }: { readonly statement: StatementScope; readonly namespace: OpenNamespace },
  plan: StatementPlan,
  tables: readonly TableDefinition[],
  nearest: readonly FoundRows[],
  schemas: FoundSchemas,
): Promise<Edit[]> {
  const edits: Edit[] = [];
  const bytesMax = settings.streamBytesMax;
  const budget: StreamBudget = { bytesMax, bytesLeft: bytesMax };
  for (const [i, ref] of plan.refs.entries()) {
    const named = tables.filter(
      (each) => each.schema === ref.schema && each.name.toLowerCase() === ref.name.toLowerCase(),
    );
    const table = named.find(({ name }) => name === ref.name) ?? named[0];
    if (table === undefined) continue;
    const near = nearest.find((each) => each.ref === i);
    if (near !== undefined) edits.push(await nearestEdit(statement, plan, ref, near, schemas));
    else if (table.schema === "collections") {
      if (ref.read) await namespace.collections.load(table, plan.columns, statement.check);
      const elsewhere = namespace.collections.shadowed(table);
      edits.push(...(elsewhere === undefined ? nameEdits([ref]) : [refEdit(ref, elsewhere)]));
    } else if (ref.read) {
      const name = `rows_${i}`;
      statement.tables.push(name);
      await fillRows(store, statement, plan, i, name, table, budget);
      edits.push(refEdit(ref, `temp.main.${name}`));
    } else edits.push(...nameEdits([ref]));
  }
  return edits;
}

/** What an index proposes stands where the statement names the table; the plan that EXPLAIN shows says so. */
async function nearestEdit(
  statement: StatementScope,
  plan: StatementPlan,
  ref: TableRef,
  { ref: i, found }: FoundRows,
  schemas: FoundSchemas,
): Promise<Edit> {
  const { all, names } = plan.columns;
  const used = schemas
    .columnsOf(found)
    .filter(({ name, shows }) => all || shows.kind === "id" || names.has(name.toLowerCase()));
  const name = `vector_index_${i}`;
  statement.tables.push(name);
  const connection = statement.connection!;
  await connection.run(`CREATE TEMP TABLE ${name} (${columnList(used)})`);
  const rows = new ChunkWriter(connection.appender("temp", "main", name));
  const { ids, offsets, data } = found;
  for (const [at, id] of ids.entries()) {
    rows.add(documentCells(id, decodeDocument(data.subarray(offsets[at], offsets[at + 1])), used));
  }
  rows.close();
  return refEdit(ref, `temp.main.${name}`);
}

async function fillRows(
  store: Store,
  statement: StatementScope,
  plan: StatementPlan,
  ref: number,
  name: string,
  table: Exclude<TableDefinition, CollectionTable>,
  budget: StreamBudget,
): Promise<void> {
  const connection = statement.connection!;
  await connection.run(`CREATE TEMP TABLE ${name} (${columnList(columnsOf(table))})`);
  const rows = new ChunkWriter(connection.appender("temp", "main", name));
  using snapshot = store.snapshot();
  if (table.schema === "streams") {
    const read = table.reads.find((each) => each.ref === ref);
    if (read !== undefined) {
      await writeRecords(table, read, plan.columns, snapshot, rows, budget, statement.check);
    }
  } else if (table.schema === "live") {
    const read = table.reads.find((each) => each.ref === ref);
    if (read !== undefined) {
      const columns = liveColumns(table.fields);
      await writeLiveDocuments(table, read, columns, plan.columns, snapshot, rows, budget, statement.check);
    }
  } else {
    for (const [counter, value] of countersOf(table.counting, snapshot)) rows.add([counter, value]);
  }
  rows.close();
}

/** One link's counters as they are stored; those of several by name, added up. */
function countersOf(links: readonly number[], snapshot: Reader): Iterable<readonly [string, bigint]> {
  const sums = new Map<string, bigint>();
  for (const link of links) {
    for (const { name, value } of readCounters(link, snapshot))
      sums.set(name, saturate((sums.get(name) ?? 0n) + value));
  }
  return sums;
}

/** Statements that are given to DuckDB together. */
const viewsTogether = 500;

/** Makes the tables known that are not: of streams and links there may be many thousands. */
async function define(open: OpenNamespace, tables: readonly TableDefinition[]): Promise<void> {
  const missing: string[] = [];
  for (const table of tables) {
    if (table.schema === "collections") {
      await open.collections.define(table);
      continue;
    }
    const key = `${table.schema}.${quote(table.name)}`;
    const cells = columnsOf(table).map(({ name, type }) => `NULL::${typeName(type)} AS ${quote(name)}`);
    const view = `CREATE OR REPLACE VIEW ${key} AS SELECT ${cells.join(", ")} WHERE false`;
    if (open.views.get(key) === view) continue;
    open.views.set(key, view);
    missing.push(view);
  }
  const { database } = open;
  for (let at = 0; at < missing.length; at += viewsTogether) {
    const views = missing.slice(at, at + viewsTogether).join(";");
    await database.exclusively(() => database.writer.run(views));
  }
}

function columnsOf(table: Exclude<TableDefinition, CollectionTable>): readonly SqlColumnInfo[] {
  switch (table.schema) {
    case "streams":
      return streamColumns;
    case "live":
      return liveColumns(table.fields);
    default:
      return linkColumns;
  }
}

async function dropOthers(open: OpenNamespace, catalog: readonly TableDefinition[]): Promise<void> {
  const { database } = open;
  const there = new Set(catalog.map(({ schema, name }) => `${schema}.${quote(name)}`));
  await open.collections.keepOnly(new Set(catalog.map(({ schema, id }) => (schema === "collections" ? id : -1))));
  for (const name of [...open.collections.names]) {
    if (!there.has(`collections.${quote(name)}`)) await open.collections.drop(name);
  }
  for (const key of [...open.views.keys()]) {
    if (there.has(key)) continue;
    open.views.delete(key);
    await database.exclusively(() => database.writer.run(`DROP VIEW IF EXISTS ${key}`));
  }
}
