import type { Reader, Store } from "../../../port/store.ts";
import { documentIdOf, readCollectionTotals } from "../../collection/collection-store.ts";
import { decodeDocument, openStored } from "../../collection/document-codec.ts";
import { yieldTurn } from "../../collection/engine-thread.ts";
import { parseSchema } from "../../collection/schema-parse.ts";
import { prefixRange, tables } from "../../keys.ts";
import { type CollectionColumn, collectionColumns } from "../columns.ts";
import type { CollectionTable } from "../messages.ts";
import { typeName } from "../value.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import { documentCells } from "./document-cells.ts";
import { chunkRowsMax } from "./duckdb.ts";
import { columnList, type NamespaceDatabase } from "./namespace-database.ts";
import { quote, type UsedColumns } from "./plan-statement.ts";
import { storedSchema } from "./shown.ts";

/** What is kept of a collection. */
interface Loaded {
  readonly table: string;
  readonly columns: readonly CollectionColumn[];
  /** Document changes up to which the table shows the collection. */
  readonly changes: number;
}

interface Known {
  readonly schemaVersion: number;
  readonly columns: readonly CollectionColumn[];
  loaded: Loaded | undefined;
}

/** The collections of a namespace as tables: a view for each name, and the columns that were asked for. */
export class CollectionTables {
  readonly #database: NamespaceDatabase;
  readonly #store: Store;
  readonly #known = new Map<number, Known>();
  /** The text of each view, by its name. */
  readonly #views = new Map<string, string>();
  #nextTable = 1;

  constructor(database: NamespaceDatabase, store: Store) {
    this.#database = database;
    this.#store = store;
  }

  /** Makes the table known, with all its columns, whether or not they are loaded. */
  async define(table: CollectionTable): Promise<void> {
    await this.#database.exclusively(() => this.#show(table, this.#knownOf(table)));
  }

  /** Brings the columns that a statement uses up to what is committed. */
  async load(table: CollectionTable, used: UsedColumns, check: () => void): Promise<void> {
    await this.#database.exclusively(async () => {
      const known = this.#knownOf(table);
      const wanted = known.columns.filter(
        ({ name, shows }) => shows.kind === "id" || used.all || used.names.has(name.toLowerCase()),
      );
      using snapshot = this.#store.snapshot();
      const { changes } = readCollectionTotals(snapshot, table.id);
      const { loaded } = known;
      const has = loaded !== undefined && wanted.every((column) => loaded.columns.includes(column));
      if (!has || loaded.changes !== changes) await this.#reload(table.id, known, wanted, snapshot, changes, check);
      await this.#show(table, known);
    });
  }

  async drop(name: string): Promise<void> {
    await this.#database.exclusively(async () => {
      if (!this.#views.delete(name)) return;
      await this.#database.writer.run(`DROP VIEW IF EXISTS collections.${quote(name)}`);
    });
  }

  get names(): Iterable<string> {
    return this.#views.keys();
  }

  #knownOf(table: CollectionTable): Known {
    const known = this.#known.get(table.id);
    if (known?.schemaVersion === table.schemaVersion) return known;
    const columns = collectionColumns(parseSchema(table.fields));
    // Fields are only ever added: what is loaded stays so, under the columns' new selves.
    const loaded = known?.loaded && {
      ...known.loaded,
      columns: known.loaded.columns.map((column) => columns.find(({ name }) => name === column.name) ?? column),
    };
    const made: Known = { schemaVersion: table.schemaVersion, columns, loaded };
    this.#known.set(table.id, made);
    return made;
  }

  async #show({ name }: CollectionTable, { columns, loaded }: Known): Promise<void> {
    const shown = columns.map((column) => {
      const isLoaded = loaded?.columns.includes(column) === true;
      return isLoaded ? quote(column.name) : `NULL::${typeName(column.type)} AS ${quote(column.name)}`;
    });
    const from = loaded === undefined ? "WHERE false" : `FROM ${storedSchema}.${quote(loaded.table)}`;
    const query = `SELECT ${shown.join(", ")} ${from}`;
    if (this.#views.get(name) === query) return;
    await this.#database.writer.run(`CREATE OR REPLACE VIEW collections.${quote(name)} AS ${query}`);
    this.#views.set(name, query);
  }

  async #reload(
    id: number,
    known: Known,
    wanted: readonly CollectionColumn[],
    snapshot: Reader,
    changes: number,
    check: () => void,
  ): Promise<void> {
    const { writer } = this.#database;
    const before = known.loaded;
    const columns = known.columns.filter((column) => wanted.includes(column) || before?.columns.includes(column));
    const table = `c${id}_${this.#nextTable++}`;
    await writer.run(`BEGIN; CREATE TABLE ${storedSchema}.${quote(table)} (${columnList(columns)})`);
    try {
      await this.#fill(table, columns, id, snapshot, check);
      await writer.run("COMMIT");
    } catch (error) {
      await writer.run("ROLLBACK").catch(() => {});
      throw error;
    }
    known.loaded = { table, columns, changes };
    if (before !== undefined) await writer.run(`DROP TABLE ${storedSchema}.${quote(before.table)}`);
  }

  async #fill(
    table: string,
    columns: readonly CollectionColumn[],
    id: number,
    snapshot: Reader,
    check: () => void,
  ): Promise<void> {
    const { writer, catalog } = this.#database;
    const rows = new ChunkWriter(writer.appender(catalog, storedSchema, table));
    let count = 0;
    for (const { key, value } of snapshot.range(prefixRange(tables.document, id))) {
      rows.add(documentCells(documentIdOf(key), decodeDocument(openStored(key, value).document), columns));
      if (++count % chunkRowsMax !== 0) continue;
      await yieldTurn();
      check();
    }
    rows.close();
  }
}
