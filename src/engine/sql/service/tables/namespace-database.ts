import { unavailable } from "../../../errors.ts";
import { tableSchemas } from "../../columns.ts";
import type { Dialect } from "../../dialect.ts";
import type { NamespaceRef } from "../../messages.ts";
import type { SqlColumnInfo } from "../../type.ts";
import { typeName } from "../../value.ts";
import { type Connection, Database, type DatabaseLimits } from "../duckdb.ts";
import { quote } from "../edits.ts";
import { shownCatalogSchema, shownSchema, shownSetUp, storedSchema } from "../shown.ts";

/** Names that DuckDB's own databases have, and schemas: it would not know which of the two is meant. */
const takenNames: ReadonlySet<string> = new Set([
  "memory",
  "system",
  "temp",
  "main",
  ...tableSchemas,
  storedSchema,
  shownSchema,
  shownCatalogSchema,
]);
/** Idle connections that are kept for the next statements. */
const idleMax = 8;

/**
 * The tables of one namespace, in a database of its own: nothing that a statement can write reaches another one's. Its
 * name is the namespace's.
 */
export class NamespaceDatabase {
  readonly namespace: NamespaceRef;
  readonly catalog: string;
  /** Work on the tables, one after another. */
  readonly writer: Connection;
  readonly #database: Database;
  readonly #idle = new Map<Dialect | undefined, Connection[]>();
  readonly #dialects = new Map<Dialect, Promise<void>>();
  readonly #background = new Set<Promise<void>>();
  #working: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  /** Statements that are open. */
  uses = 0;
  lastUse = 0;

  private constructor(namespace: NamespaceRef, catalog: string, database: Database, writer: Connection) {
    this.namespace = namespace;
    this.catalog = catalog;
    this.#database = database;
    this.writer = writer;
  }

  static async open(namespace: NamespaceRef, limits: DatabaseLimits): Promise<NamespaceDatabase> {
    const database = await Database.open(limits);
    const writer = await database.connect();
    const { name } = namespace;
    const catalog = takenNames.has(name.toLowerCase()) ? `${name}_` : name;
    await writer.run(
      [
        // Packed columns take less memory, and DuckDB groups and filters them by their dictionaries.
        `ATTACH ':memory:' AS ${quote(catalog)} (COMPRESS)`,
        `USE ${quote(catalog)}`,
        ...tableSchemas.map((schema) => `CREATE SCHEMA ${schema}`),
        `CREATE SCHEMA ${storedSchema}`,
        `USE ${quote(catalog)}.collections`,
        ...shownSetUp(),
        "SET GLOBAL TimeZone = 'UTC'",
        // A sum of so many terms takes half a second before it runs, and the time grows with the cube of them.
        "SET GLOBAL max_expression_depth = 250",
        "SET GLOBAL enable_external_access = false",
        // What a connection of a dialect sets for itself; statements can't.
        "SET GLOBAL allowed_configs = ['default_null_order']",
        "SET GLOBAL lock_configuration = true",
      ].join(";"),
    );
    return new NamespaceDatabase(namespace, catalog, database, writer);
  }

  /** Runs after everything that was given before it; while it does, the database is in use. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    this.uses++;
    const done = this.#working.then(work).finally(() => this.uses--);
    this.#working = done.catch(() => {});
    return done;
  }

  /** Packs what has been written, after everything that was given before it; statements go on meanwhile. */
  pack(): void {
    if (this.#isEnding) return;
    this.later(this.exclusively(() => this.writer.run(`CHECKPOINT ${quote(this.catalog)}`)));
  }

  /** Throws when the process ends, for work that is nobody's statement. */
  readonly check = (): void => {
    if (this.#isEnding) throw unavailable("the server is shutting down");
  };

  async connect(dialect: Dialect | undefined): Promise<Connection> {
    if (dialect !== undefined) await this.#setUp(dialect);
    const idle = this.#idle.get(dialect)?.pop();
    if (idle !== undefined) return idle;
    const connection = await this.#database.connect();
    const schemas = ["collections", ...(dialect?.schemas ?? []), shownCatalogSchema].map(
      (schema) => `${quote(this.catalog)}.${quote(schema)}`,
    );
    const settings = [`SET search_path = '${schemas.join(",").replaceAll("'", "''")}'`];
    if (dialect !== undefined) settings.push(`SET SESSION default_null_order = '${dialect.nullOrder}'`);
    await connection.run(settings.join(";"));
    return connection;
  }

  /** Work that nobody waits for, but for the end. */
  later(work: Promise<void>): void {
    const done = work.catch(() => {}).finally(() => this.#background.delete(done));
    this.#background.add(done);
  }

  /** Waits until nothing is under way. */
  async idle(): Promise<void> {
    this.#isEnding = true;
    await this.#working;
    while (this.#background.size > 0) await Promise.all(this.#background);
  }

  /** Takes a connection back; `clean` when nothing is open on it. */
  giveBack(dialect: Dialect | undefined, connection: Connection, clean: boolean): void {
    const idle = this.#idle.get(dialect) ?? [];
    if (!clean || idle.length >= idleMax) {
      connection.close();
      return;
    }
    idle.push(connection);
    this.#idle.set(dialect, idle);
  }

  close(): void {
    for (const connections of this.#idle.values()) for (const connection of connections) connection.close();
    this.#idle.clear();
    this.writer.close();
    this.#database.close();
  }

  #setUp(dialect: Dialect): Promise<void> {
    const known = this.#dialects.get(dialect);
    if (known !== undefined) return known;
    const creation = this.exclusively(async () => {
      for (const statement of dialect.setUp({ namespace: this.namespace.name })) await this.writer.run(statement);
    });
    this.#dialects.set(dialect, creation);
    return creation;
  }
}

export function columnList(columns: readonly SqlColumnInfo[]): string {
  return columns.map(({ name, type }) => `${quote(name)} ${typeName(type)}`).join(", ");
}
