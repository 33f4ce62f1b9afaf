import { nextTurn } from "../../../../port/next-turn.ts";
import type { Reader, Store } from "../../../../port/store.ts";
import { documentIdOf, documentKey, readCollectionTotals } from "../../../collection/collection-store.ts";
import { decodeDocument, openStored } from "../../../collection/document-codec.ts";
import { changedIds } from "../../../collection/write-record.ts";
import { logKey, prefixRange, tables } from "../../../keys.ts";
import { BatchCursor } from "../../../log/record-batch.ts";
import { readSchema } from "../../../schema/schema-parse.ts";
import { type CollectionColumn, collectionColumns } from "../../columns.ts";
import { documentCells } from "../../document-cells.ts";
import type { UsedColumns } from "../../found-rows.ts";
import type { CollectionTable } from "../../messages.ts";
import { typeName } from "../../value.ts";
import { chunkRowsMax } from "../duckdb.ts";
import { quote } from "../edits.ts";
import { storedSchema } from "../shown.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import { columnList, type NamespaceDatabase } from "./namespace-database.ts";

/** Fields that are loaded together the first time, whether asked for or not: parsing a source is most of the work. */
const fieldsTogetherMax = 32;
/** With more changed documents than this, and than half of all, the whole collection is loaded again. */
const changedMin = 20_000;
/** Dead rows that a table may have, besides as many as are live, before it is rewritten. */
const deadMin = 50_000;
/** New rows, and their share of all rows, from which on a table is packed again. */
const looseMin = 10_000;
const looseShare = 0.1;
/** Ids of one DELETE. */
const deleteStep = 1_000;

/** What is kept of a collection. */
interface Loaded {
  readonly table: string;
  readonly columns: readonly CollectionColumn[];
  /** Document changes up to which the table shows the collection. */
  changes: number;
  /** Rows that were replaced or deleted, about. */
  dead: number;
  /** Rows that were written since the table was packed. */
  loose: number;
}

interface Known {
  schemaVersion: number;
  columns: readonly CollectionColumn[];
  loaded: Loaded | undefined;
  /** The count of changes up to which the changed ids are known. */
  changesKnown: number;
  next: number;
  /** Documents that changed since what is loaded, or is being loaded, was read; undefined when some are not known. */
  changed: Set<number> | undefined;
}

/** The collections of a namespace as tables: a view for each name, and the columns that were asked for. */
export class CollectionTables {
  readonly #database: NamespaceDatabase;
  readonly #store: Store;
  readonly #known = new Map<number, Known>();
  /** The place and text of each view, by the collection's name. */
  readonly #views = new Map<string, string>();
  /** The collection of each view, by its name. */
  readonly #ids = new Map<string, number>();
  #nextTable = 1;

  constructor(database: NamespaceDatabase, store: Store) {
    this.#database = database;
    this.#store = store;
  }

  /** Takes the changes that a message lists for a collection, in the order of the messages. */
  take(table: CollectionTable): void {
    const known = this.#knownOf(table);
    const { delta } = table;
    if (delta === undefined) return;
    if (known.changesKnown !== delta.from) {
      // A message was missed: what is loaded can't be brought up to date.
      known.changed = undefined;
    }
    for (const id of delta.ids) known.changed?.add(id);
    known.changesKnown = delta.upTo;
    known.next = delta.next;
  }

  /** Makes the table known, with all its columns, whether or not they are loaded. */
  async define(table: CollectionTable): Promise<void> {
    const known = this.#knownOf(table);
    if (this.#views.get(table.name) === this.#viewOf(table, known)) return;
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
      const { changes, documents } = readCollectionTotals(snapshot, table.id);
      const { loaded, changed } = known;
      let gone: string | undefined;
      // Must run in the same turn as the snapshot: changes reported later belong to the next statement. Those reported before may
      // be newer than the snapshot too, since the store follows its commit log.
      known.changed = known.changesKnown > changes ? changed && new Set(changed) : new Set();
      try {
        const has = loaded !== undefined && wanted.every((column) => isAmong(loaded.columns, column));
        if (!has || !(await this.#update(table, known, loaded, changed, snapshot, { changes, documents }, check))) {
          await this.#reload(table, known, wanted, snapshot, changes, check);
          gone = loaded?.table;
        }
      } catch (error) {
        known.changed = changed && known.changed?.union(changed);
        throw error;
      }
      await this.#show(table, known);
      if (gone !== undefined) await this.#dropTable(gone);
      this.#pack(known.loaded, documents);
    });
  }

  #pack(loaded: Loaded | undefined, documents: number): void {
    if (loaded === undefined || loaded.loose < Math.max(looseMin, documents * looseShare)) return;
    loaded.loose = 0;
    this.#database.pack();
  }

  async drop(name: string): Promise<void> {
    await this.#database.exclusively(async () => {
      this.#ids.delete(name);
      const view = this.#views.get(name);
      if (view === undefined) return;
      this.#views.delete(name);
      await this.#database.writer.run(`DROP VIEW IF EXISTS ${view.slice(0, view.indexOf(" AS "))}`);
    });
  }

  /** Lets go of collections that are no more. */
  async keepOnly(ids: ReadonlySet<number>): Promise<void> {
    for (const [id, { loaded }] of [...this.#known]) {
      if (ids.has(id)) continue;
      this.#known.delete(id);
      if (loaded === undefined) continue;
      await this.#database.exclusively(() => this.#dropTable(loaded.table));
    }
  }

  /**
   * Where a statement finds a collection's rows when not under its own name: DuckDB does not tell names apart that differ
   * in case only, and another collection was there first.
   */
  shadowed({ name, id }: CollectionTable): string | undefined {
    const lower = name.toLowerCase();
    for (const [other, otherId] of this.#ids) {
      if (otherId === id || other.toLowerCase() !== lower) continue;
      // The one whose view has the name keeps it.
      if (this.#views.get(other)?.startsWith("collections.")) return `${storedSchema}.view_${id}`;
    }
    return undefined;
  }

  /** The columns of a collection, as its table has them. */
  columnsOf(table: CollectionTable): readonly CollectionColumn[] {
    return this.#knownOf(table).columns;
  }

  get names(): Iterable<string> {
    return this.#views.keys();
  }

  #knownOf(table: CollectionTable): Known {
    const known = this.#known.get(table.id);
    if (known !== undefined && known.schemaVersion >= table.schemaVersion) return known;
    const { schemaVersion } = table;
    const columns = collectionColumns(readSchema(table.fields));
    if (known !== undefined) {
      // Fields are only ever added: what is loaded stays so.
      return Object.assign(known, { schemaVersion, columns });
    }
    const entry: Known = { schemaVersion, columns, loaded: undefined, changesKnown: -1, next: 0, changed: undefined };
    this.#known.set(table.id, entry);
    return entry;
  }

  #viewOf(table: CollectionTable, known: Known): string {
    return `${this.shadowed(table) ?? `collections.${quote(table.name)}`} AS ${viewText(known)}`;
  }

  async #show(table: CollectionTable, known: Known): Promise<void> {
    const { name, id } = table;
    const view = this.#viewOf(table, known);
    if (this.#views.get(name) === view) return;
    const before = this.#ids.get(name);
    this.#ids.set(name, id);
    await this.#database.writer.run(`CREATE OR REPLACE VIEW ${view}`);
    this.#views.set(name, view);
    // Another collection has the name now; what nothing names any more is let go of.
    if (before !== undefined && before !== id && ![...this.#ids.values()].includes(before)) {
      const { loaded } = this.#known.get(before) ?? {};
      this.#known.delete(before);
      if (loaded !== undefined) await this.#dropTable(loaded.table);
    }
  }

  /** Replaces what changed; false when too much did, or not all of it is known. */
  async #update(
    { id, stream }: CollectionTable,
    known: Known,
    loaded: Loaded,
    changedIds: ReadonlySet<number> | undefined,
    snapshot: Reader,
    { changes, documents }: { readonly changes: number; readonly documents: number },
    check: () => void,
  ): Promise<boolean> {
    if (loaded.changes === changes) return true;
    if (changedIds === undefined) return false;
    const changed = new Set(changedIds);
    // Between the message and this look at the store there may have been more, which the log still has.
    if (changes > known.changesKnown && !addLogged(snapshot, stream, known.next, changes - known.changesKnown, changed))
      return false;
    if (changed.size > changedMin && changed.size > documents / 2) return false;
    if (loaded.dead + changed.size > deadMin + documents) return false;
    await this.#replace(loaded, id, [...changed], snapshot, check);
    loaded.changes = changes;
    loaded.dead += changed.size;
    loaded.loose += changed.size;
    return true;
  }

  async #replace(
    { table, columns }: Loaded,
    id: number,
    changed: readonly number[],
    snapshot: Reader,
    check: () => void,
  ): Promise<void> {
    const { writer, catalog } = this.#database;
    const deletes: string[] = [];
    for (let at = 0; at < changed.length; at += deleteStep) {
      const ids = changed.slice(at, at + deleteStep).join(",");
      deletes.push(`DELETE FROM ${storedSchema}.${quote(table)} WHERE _id IN (${ids})`);
    }
    await this.#atomically(deletes, async () => {
      check();
      const rows = new ChunkWriter(writer.appender(catalog, storedSchema, table));
      for (const each of changed) {
        const key = documentKey(id, each);
        const stored = snapshot.get(key);
        if (stored === undefined) continue;
        rows.add(documentCells(each, decodeDocument(openStored(key, stored).document), columns));
        if (!rows.isEmpty) continue;
        await nextTurn();
        check();
      }
      rows.close();
    });
  }

  async #reload(
    { id }: CollectionTable,
    known: Known,
    wanted: readonly CollectionColumn[],
    snapshot: Reader,
    changes: number,
    check: () => void,
  ): Promise<void> {
    const before = known.loaded;
    const fields = known.columns.filter(({ shows }) => shows.kind === "field");
    const together = fields.length <= fieldsTogetherMax;
    const columns = known.columns.filter(
      (column) =>
        isAmong(wanted, column) ||
        isAmong(before?.columns, column) ||
        (together && column.shows.kind === "field" && column.shows.field.kind.kind !== "json"),
    );
    const table = `c${id}_${this.#nextTable++}`;
    const create = `CREATE TABLE ${storedSchema}.${quote(table)} (${columnList(columns)})`;
    let rows = 0;
    await this.#atomically([create], async () => {
      rows = await this.#fill(table, columns, id, snapshot, check);
    });
    known.loaded = { table, columns, changes, dead: 0, loose: rows };
  }

  async #fill(
    table: string,
    columns: readonly CollectionColumn[],
    id: number,
    snapshot: Reader,
    check: () => void,
  ): Promise<number> {
    const { writer, catalog } = this.#database;
    const rows = new ChunkWriter(writer.appender(catalog, storedSchema, table));
    let count = 0;
    for (const { key, value } of snapshot.range(prefixRange(tables.document, id))) {
      rows.add(documentCells(documentIdOf(key), decodeDocument(openStored(key, value).document), columns));
      if (++count % chunkRowsMax !== 0) continue;
      await nextTurn();
      check();
    }
    rows.close();
    return count;
  }

  /** The statements go together: each call of the library is a wait for a thread. */
  async #atomically(first: readonly string[], work: () => Promise<void>): Promise<void> {
    const { writer } = this.#database;
    try {
      await writer.run(["BEGIN", ...first].join(";"));
      await work();
      await writer.run("COMMIT");
    } catch (error) {
      await writer.run("ROLLBACK").catch(() => {});
      throw error;
    }
  }

  async #dropTable(table: string): Promise<void> {
    await this.#database.writer.run(`DROP TABLE ${storedSchema}.${quote(table)}`);
  }
}

function viewText({ columns, loaded }: Known): string {
  const shown = columns.map((column) => {
    const has = isAmong(loaded?.columns, column);
    return has ? quote(column.name) : `NULL::${typeName(column.type)} AS ${quote(column.name)}`;
  });
  const from = loaded === undefined ? "WHERE false" : `FROM ${storedSchema}.${quote(loaded.table)}`;
  return `SELECT ${shown.join(", ")} ${from}`;
}

/** By name: a column that was made again for a later schema is the same one. */
function isAmong(columns: readonly CollectionColumn[] = [], { name }: CollectionColumn): boolean {
  return columns.some((column) => column.name === name);
}

/** Adds the documents that the log names from an offset on; false when that is not exactly so many changes. */
function addLogged(reader: Reader, stream: number, next: number, count: number, into: Set<number>): boolean {
  let found = 0;
  let expected = next;
  for (const { key, value } of reader.range({ from: logKey(stream, 0, next), to: logKey(stream, 1, 0) })) {
    const batch = new BatchCursor(key, value);
    if (batch.header.baseOffset !== expected) return false;
    expected = batch.endOffset;
    while (batch.next()) {
      for (const id of changedIds(batch.value!)) {
        into.add(id);
        found++;
      }
    }
  }
  return found === count;
}
