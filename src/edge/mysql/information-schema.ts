import { type Catalog, type CatalogTable, informationSchema } from "./catalog.ts";
import { quoteName, quoteText } from "./dialect/draft.ts";
import { mysqlError } from "./error.ts";
import { type Definition, definitions } from "./information-tables.ts";
import { type Cell, tableColumns } from "./rows.ts";

/**
 * information_schema with MySQL's tables and columns. What a statement asks for becomes a query of literals in its place,
 * so that joins, filters and functions over it are the engine's.
 */

const rowsMax = 50_000;

export function isInformationTable(name: string): boolean {
  return Object.hasOwn(definitions, name);
}

/** Whether it never has rows. */
export function isEmptyTable(name: string): boolean {
  return definitions[name]?.rows === undefined;
}

/** The queries that stand for the tables of these names, over the databases that the principal may see. */
export async function informationQueries(
  names: readonly string[],
  databases: readonly string[],
  catalog: Catalog,
): Promise<Map<string, string>> {
  const needsTables = names.some((name) => (definitions[name]?.rows?.length ?? 0) >= 1 && name !== "SCHEMATA");
  const tables: CatalogTable[] = [];
  if (needsTables) {
    for (const database of databases) {
      if (database !== informationSchema) tables.push(...(await catalog.tables(database)));
    }
  }
  return new Map(names.map((name) => [name, queryOf(name, definitions[name]!, tables, databases)]));
}

function queryOf(
  name: string,
  { columns, rows }: Definition,
  tables: readonly CatalogTable[],
  databases: readonly string[],
): string {
  const cells = rows?.(tables, databases) ?? [];
  if (cells.length > rowsMax) {
    throw mysqlError("tooManyRows", `information_schema.${name} has too many rows; name one database in the WHERE`);
  }
  const typed = tableColumns(...columns);
  const names = typed.map((column) => quoteName(column.name)).join(", ");
  const casts = typed.map(({ type, name: column }) => {
    return `CAST(${quoteName(column)} AS ${type.kind === "int64" ? "BIGINT" : "VARCHAR"}) AS ${quoteName(column)}`;
  });
  const lines = cells.length === 0 ? [typed.map(() => null)] : cells;
  const values = lines.map((line) => `(${line.map(literal).join(", ")})`).join(", ");
  const where = cells.length === 0 ? " WHERE false" : "";
  return `SELECT ${casts.join(", ")} FROM (VALUES ${values}) AS ${quoteName(name)}(${names})${where}`;
}

export function literal(cell: Cell): string {
  if (cell === null) return "NULL";
  return typeof cell === "string" ? quoteText(cell) : String(cell);
}
