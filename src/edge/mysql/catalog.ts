import { authorize, needs, visibleNamespaces } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError } from "../../engine/errors.ts";
import type { Sql, SqlTable } from "../../engine/sql/sql.ts";
import { splitName } from "./dialect/tables.ts";
import { mysqlError } from "./error.ts";

export const informationSchema = "information_schema";

export interface Namespaces {
  list(): readonly { readonly name: string }[];
  has(name: string): boolean;
}

/** A table as MySQL's clients see it. */
export interface CatalogTable {
  readonly database: string;
  /** A collection's own name, else with the schema before it. */
  readonly name: string;
  readonly table: SqlTable;
}

/** The databases and tables that a principal may see. */
export class Catalog {
  readonly #sql: Sql;
  readonly #namespaces: Namespaces;

  constructor(sql: Sql, namespaces: Namespaces) {
    this.#sql = sql;
    this.#namespaces = namespaces;
  }

  databases(principal: Principal): string[] {
    const names = visibleNamespaces(principal, this.#namespaces.list(), ({ name }) => name).map(({ name }) => name);
    return [informationSchema, ...names.sort()];
  }

  /** Refuses a database that the principal may not read, whether it exists or not, and one that does not exist. */
  open(principal: Principal, user: string, database: string): void {
    if (database.toLowerCase() !== informationSchema) this.openNamespace(principal, user, database);
  }

  /** The same for what a statement runs in, which is a namespace whatever its name. */
  openNamespace(principal: Principal, user: string, database: string): void {
    try {
      authorize(principal, needs.readIn(database));
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw mysqlError(
        "databaseDenied",
        `Access denied for user '${user}' to database '${database}': ${error.message}`,
      );
    }
    if (!this.#namespaces.has(database)) throw mysqlError("unknownDatabase", `Unknown database '${database}'`);
  }

  async tables(database: string): Promise<CatalogTable[]> {
    if (database.toLowerCase() === informationSchema) return [];
    const tables = await this.#sql.tables(database);
    const named = tables.map((table) => {
      const name = table.schema === "collections" ? table.name : `${table.schema}.${table.name}`;
      return { database, name, table };
    });
    return named.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async table(database: string, name: string): Promise<CatalogTable> {
    const tables = await this.tables(database);
    const [schema, bare] = splitName(name);
    const found =
      tables.find((each) => each.table.schema === schema && each.table.name === bare) ??
      tables.find((each) => each.name === name);
    if (found === undefined) throw mysqlError("unknownTable", `Table '${database}.${name}' doesn't exist`);
    return found;
  }
}

/** The column by which a document is known. */
export function isKey(table: SqlTable, column: string): boolean {
  return (
    ((table.schema === "collections" || table.schema === "live") && column === "_id") ||
    (table.schema === "streams" && (column === "partition" || column === "offset")) ||
    ((table.schema === "links" || table.schema === "counters") && column === "counter")
  );
}
