import { isTableSchema, type TableSchema } from "../../columns.ts";
import type { Dialect } from "../../dialect.ts";
import { sqlFault } from "../../fault.ts";
import { aggregateFunctions, scalarFunctions } from "./allowed-functions.ts";
import { refusedFunctions, refusedPrefixes } from "./refused-functions.ts";
import type { BaseTable, FunctionCall, ShowRef, TableFunction, TreeNode } from "./syntax-tree.ts";

/**
 * What a statement may reach. The database itself can't reach a file, a network or another namespace, and is read in a
 * transaction that can't write; what is refused here is refused with a reason, and before anything runs.
 */
export const tableFunctions: ReadonlySet<string> = new Set([
  "range",
  "generate_series",
  "unnest",
  "repeat",
  "repeat_row",
  "json_each",
  "json_tree",
  "pg_timezone_names",
  "icu_calendar_names",
  "duckdb_keywords",
]);

const functions = new Set([...scalarFunctions, ...aggregateFunctions, "unnest", "grouping", "grouping_id"]);
const refused = new Map(
  Object.entries(refusedFunctions).flatMap(([why, names]) => names.split(" ").map((name) => [name, why] as const)),
);

/** Kinds of table references in a tree; any other is one that no user's text can make. */
const tableRefs = new Set([
  "BASE_TABLE",
  "TABLE_FUNCTION",
  "SHOW_REF",
  "SUBQUERY",
  "JOIN",
  "EXPRESSION_LIST",
  "EMPTY",
  "PIVOT",
]);
const forbiddenRefs = new Set(["COLUMN_DATA", "DELIM_GET", "BOUND_TABLE_REF", "CTE", "INVALID"]);

export function isTableRef(type: unknown): boolean {
  return typeof type === "string" && tableRefs.has(type);
}

export function checkRef(type: unknown): void {
  if (typeof type === "string" && forbiddenRefs.has(type)) {
    throw sqlFault("forbidden", `a table reference of kind ${type} can't be used`);
  }
}

const catalogSchemas = ["information_schema", "pg_catalog"];

/** Views of DuckDB's own that show settings, what lies outside the namespace, or how the engine keeps things. */
const forbiddenRelations = new Set([
  "pg_settings",
  "duckdb_logs",
  "duckdb_databases",
  "pragma_database_list",
  "sqlite_master",
  "sqlite_schema",
  "sqlite_temp_master",
  "sqlite_temp_schema",
  "duckdb_tables",
  "duckdb_views",
  "duckdb_columns",
  "duckdb_schemas",
  "duckdb_constraints",
  "duckdb_indexes",
]);

export type Place =
  | { readonly kind: "table"; readonly schema: TableSchema }
  /** A name without a schema: an expression of the statement or a collection. */
  | { readonly kind: "bare" }
  | { readonly kind: "catalog"; readonly schema: string };

/** Whose table a reference names; throws when it is out of reach. */
export function placeOf(table: BaseTable, namespace: string, dialect: Dialect | undefined, position: number): Place {
  const { catalog_name: catalog, schema_name: schema, table_name: name } = table;
  if (catalog !== undefined && catalog !== "" && catalog.toLowerCase() !== namespace.toLowerCase()) {
    throw sqlFault("forbidden", `${JSON.stringify(catalog)} is another database; this is ${namespace}`, { position });
  }
  if (forbiddenRelations.has(name.toLowerCase())) {
    throw sqlFault("forbidden", `${JSON.stringify(name)} can't be read`, { position });
  }
  if (schema === undefined || schema === "") return { kind: "bare" };
  const lower = schema.toLowerCase();
  const own = isTableSchema(lower) ? lower : undefined;
  if (own !== undefined) return { kind: "table", schema: own };
  if (catalogSchemas.includes(lower) || dialect?.schemas.includes(lower) === true) {
    return { kind: "catalog", schema: lower };
  }
  // As a namespace's name may stand before a schema, so it may before a collection.
  if ((catalog === undefined || catalog === "") && lower === namespace.toLowerCase()) {
    return { kind: "table", schema: "collections" };
  }
  throw sqlFault("unknown_table", `there is no schema ${JSON.stringify(schema)}`, { position });
}

export function checkTableFunction(ref: TableFunction, dialect: Dialect | undefined, position: number): void {
  const name = ref.function.function_name.toLowerCase();
  if (tableFunctions.has(name) || dialect?.tableFunctions?.includes(name) === true) return;
  throw sqlFault("forbidden", `the table function ${name} can't be used`, { position });
}

const owned = new WeakMap<Dialect, ReadonlySet<string>>();

/** What a dialect makes in its schemas, as `schema.function`. */
function ownFunctions(dialect: Dialect): ReadonlySet<string> {
  let found = owned.get(dialect);
  if (found === undefined) {
    const script = dialect.setUp({ namespace: "" }).join(";\n");
    found = new Set([...script.matchAll(/\bMACRO ([a-z_]+\.[a-z_0-9]+)/g)].map(([, name]) => name!));
    owned.set(dialect, found);
  }
  return found;
}

/** Scalar functions, aggregates and what stands over a window. */
export function checkFunction(call: FunctionCall, dialect: Dialect | undefined, position: number): void {
  const name = call.function_name.toLowerCase();
  if (functions.has(name) || dialect?.macros.has(name) === true) return;
  // A schema that has no such function may be a column's name, and the call a method of it.
  if (
    call.schema !== undefined &&
    dialect !== undefined &&
    ownFunctions(dialect).has(`${call.schema.toLowerCase()}.${name}`)
  )
    return;
  const why = refused.get(name);
  const isOwn = refusedPrefixes.some((prefix) => name.startsWith(prefix));
  if (why === undefined && !isOwn)
    throw sqlFault("unknown_function", `the function ${name} does not exist`, { position });
  throw sqlFault("forbidden", `the function ${name} can't be used${why === undefined ? "" : `: it ${why}`}`, {
    position,
  });
}

/** Values of this type are made by functions that are refused, and of deep JSON by a cast that ends the process. */
export function checkType(node: TreeNode): void {
  const info = node["type_info"] as TreeNode | undefined;
  const name = node["id"] === "UNBOUND" ? info?.["name"] : node["id"];
  if (typeof name === "string" && name.toLowerCase() === "variant") {
    throw sqlFault("forbidden", "the type VARIANT can't be used");
  }
}

/** `SHOW TABLES` and the like, as views of ours; undefined for those of one table. */
export function shownView(show: ShowRef): string | undefined {
  if (show.query !== undefined) return undefined;
  const what = (show.table_name ?? "").replaceAll('"', "").toLowerCase();
  switch (what) {
    case "tables":
      return "show_tables";
    case "__show_tables_expanded":
      return "show_all_tables";
    case "databases":
      return "show_databases";
    case "schemas":
      return "show_schemas";
    default:
      throw sqlFault("forbidden", `SHOW ${what} can't be used; there are SHOW TABLES, SHOW ALL TABLES and DESCRIBE`);
  }
}
