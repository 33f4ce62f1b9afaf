import type { Connection, Table } from "@lancedb/lancedb";
import type { Field, Schema } from "apache-arrow";
import {
  type ColumnarChange,
  type ColumnarDataset,
  ColumnarError,
  type ColumnarMaintenance,
  type ColumnarRow,
  type ColumnarSchema,
  type ColumnarStats,
} from "../../port/columnar.ts";
import { arrowSchema, idColumn, listField, listName, rowBatch } from "./batch.ts";
import { lanceLimits } from "./limits.ts";
import { type Arrow, loadLance } from "./load.ts";
import { DatasetSync } from "./sync.ts";
import { SyncedVersion } from "./synced-version.ts";

/** Tags that start with it hold what is pinned, between one clean-up and the next. */
const pinTag = "pinned-";

/** About what a row takes in memory while it is written. */
function rowBytes(row: ColumnarRow): number {
  let bytes = 64 + row.source.length * 2;
  for (const vector of row.vectors) bytes += vector === undefined ? 0 : vector.byteLength;
  for (const values of row.values)
    for (const value of values) bytes += typeof value === "string" ? value.length + 8 : 8;
  return bytes;
}

function slices(rows: readonly ColumnarRow[]): ColumnarRow[][] {
  const found: ColumnarRow[][] = [];
  let current: ColumnarRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (current.length === lanceLimits.commitRowsMax || (bytes >= lanceLimits.commitBytesMax && current.length > 0)) {
      found.push(current);
      current = [];
      bytes = 0;
    }
    current.push(row);
    bytes += rowBytes(row);
  }
  if (current.length > 0) found.push(current);
  return found;
}

function checkIds(change: ColumnarChange): void {
  const seen = new Set<number>(change.deletes);
  if (seen.size !== change.deletes.length) throw new ColumnarError("failed", "an id is deleted twice in one change");
  for (const { id } of change.upserts) {
    if (seen.has(id)) throw new ColumnarError("failed", `id ${id} is there twice in one change`);
    seen.add(id);
  }
}

export interface DatasetPlace {
  /** Files of this machine, which have to be synced. */
  readonly isLocal: boolean;
  readonly isShared: boolean;
}

export class LanceDataset implements ColumnarDataset {
  readonly uri: string;
  readonly #connection: Connection;
  readonly #table: Table;
  readonly #arrow: Arrow;
  readonly #place: DatasetPlace;
  readonly #sync: DatasetSync;
  readonly #syncedVersion: SyncedVersion;
  #schema: ColumnarSchema;
  #stored: Schema;
  /** Fields that have a column for several values. */
  readonly #several = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(
    uri: string,
    connection: Connection,
    table: Table,
    schema: ColumnarSchema,
    stored: Schema,
    place: DatasetPlace,
  ) {
    this.uri = uri;
    this.#place = place;
    this.#connection = connection;
    this.#table = table;
    this.#arrow = loadLance().arrow;
    this.#sync = new DatasetSync(uri);
    this.#syncedVersion = new SyncedVersion(uri);
    this.#schema = schema;
    this.#stored = stored;
  }

  /** One call after another: lance resolves conflicts between its writers by trying again, which is never needed here. */
  #serial<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new ColumnarError("closed", "the dataset is closed"));
    const run = this.#last.then(work).catch((error: unknown) => {
      if (error instanceof ColumnarError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new ColumnarError("failed", `lance: ${message}`, error);
    });
    this.#last = run.catch(() => undefined);
    return run;
  }

  apply(change: ColumnarChange): Promise<number> {
    return this.#serial(async () => {
      checkIds(change);
      await this.#addLists(change.upserts);
      for (let at = 0; at < change.deletes.length; at += lanceLimits.deleteIdsMax) {
        const ids = change.deletes.slice(at, at + lanceLimits.deleteIdsMax);
        await this.#table.delete(`${idColumn} IN (${ids.join(",")})`);
      }
      for (const slice of slices(change.upserts)) await this.#upsert(slice);
      return this.synced();
    });
  }

  /** The newest version, once it would survive a power cut. */
  async synced(): Promise<number> {
    const version = await this.#table.version();
    // What is in a bucket is durable.
    if (!this.#place.isLocal) return version;
    await this.#sync.run();
    await this.#syncedVersion.write(version);
    return version;
  }

  async #upsert(rows: readonly ColumnarRow[]): Promise<void> {
    const batches = [];
    for (let at = 0; at < rows.length; at += lanceLimits.batchRows) {
      const part = rows.slice(at, at + lanceLimits.batchRows);
      batches.push(rowBatch(this.#arrow, this.#schema, this.#stored, this.#several, part));
    }
    const data = new this.#arrow.Table(this.#stored, batches);
    await this.#table.mergeInsert(idColumn).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(data);
  }

  async #addLists(rows: readonly ColumnarRow[]): Promise<void> {
    const found = this.#schema.columns.filter(
      (column, c) => !this.#several.has(column.name) && rows.some((row) => (row.values[c]?.length ?? 0) > 1),
    );
    if (found.length === 0) return;
    await this.#table.addColumns(found.map((column) => listField(this.#arrow, column)));
    this.#stored = await this.#table.schema();
    for (const column of found) this.#several.add(column.name);
  }

  version(): Promise<number> {
    return this.#serial(() => this.#table.version());
  }

  addColumns(schema: ColumnarSchema): Promise<void> {
    return this.#serial(() => this.align(schema));
  }

  /** Adds what the stored dataset lacks, and refuses what it has otherwise. */
  async align(schema: ColumnarSchema): Promise<void> {
    const stored = new Map(this.#stored.fields.map((field) => [field.name, field]));
    const lists = schema.columns.filter((column) => stored.has(listName(column.name))).map((column) => column.name);
    const wanted = arrowSchema(this.#arrow, schema, new Set(lists));
    const lacking: Field[] = [];
    for (const field of wanted.fields) {
      const found = stored.get(field.name);
      stored.delete(field.name);
      if (found === undefined) lacking.push(field);
      else if (String(found.type) !== String(field.type)) {
        throw new ColumnarError("schema", `column ${field.name} is ${found.type}, not ${field.type}`);
      }
    }
    for (const name of stored.keys()) throw new ColumnarError("schema", `column ${name} is not in the schema`);
    if (lacking.length > 0) {
      await this.#table.addColumns(lacking);
      this.#stored = await this.#table.schema();
    }
    this.#schema = schema;
    for (const name of lists) this.#several.add(name);
  }

  stats(): Promise<ColumnarStats> {
    return this.#serial(async () => {
      const { numRows, fragmentStats } = await this.#table.stats();
      return { version: await this.#table.version(), rows: numRows, fragments: fragmentStats.numFragments };
    });
  }

  /**
   * Compaction rewrites every fragment below a million rows, and lancedb offers it only together with the clean-up. So
   * it waits until the smaller fragments hold as much as the largest, which bounds what is written altogether to about
   * twice the rows, or until there are so many fragments or versions that they slow down every commit.
   */
  maintain(options: ColumnarMaintenance): Promise<{ version: number; done: boolean }> {
    return this.#serial(async () => {
      const { numRows, fragmentStats } = await this.#table.stats();
      const { numFragments, lengths } = fragmentStats;
      const versions = await this.#table.listVersions();
      let keepFromMs = startOfNewestAt(versions, options.keepFromMs);
      for (const { version, timestamp } of versions) {
        if (options.pinned.includes(version)) keepFromMs = Math.min(keepFromMs, timestamp.getTime());
      }
      keepFromMs -= lanceLimits.cleanupSlackMs;
      const old = versions.filter(({ timestamp }) => timestamp.getTime() < keepFromMs).length;
      const doubled = numFragments >= lanceLimits.fragmentsMin && numRows - lengths.max >= lengths.max;
      const many = numFragments >= lanceLimits.fragmentsMax || old >= lanceLimits.oldVersionsMax;
      if (!doubled && !many && options.force !== true) return { version: await this.#table.version(), done: false };
      await this.#table.optimize({ cleanupOlderThan: new Date(0) });
      const known = new Set(versions.map(({ version }) => version));
      await this.#cleanUp(
        keepFromMs,
        options.pinned.filter((version) => known.has(version)),
      );
      return { version: await this.synced(), done: true };
    });
  }

  /**
   * Lancedb turns the time into an age and back into a time when it gets to work, so what it frees depends on how long
   * it took to get there. Compaction is done before for that reason, and the tags make sure: lance refuses to free a
   * tagged version.
   */
  async #cleanUp(keepFromMs: number, pinned: readonly number[]): Promise<void> {
    const tags = await this.#table.tags();
    const wanted = new Map(pinned.map((version) => [`${pinTag}${version}`, version]));
    for (const [name, { version }] of Object.entries(await tags.list())) {
      if (wanted.get(name) === version) wanted.delete(name);
      else if (name.startsWith(pinTag)) await tags.delete(name);
    }
    for (const [name, version] of wanted) await tags.create(name, version);
    try {
      // Files of no version are left by a crash, or a writer that was deposed is at work on them. Lance frees these after a week.
      const deleteUnverified = !this.#place.isShared;
      await this.#table.optimize({ cleanupOlderThan: new Date(keepFromMs), deleteUnverified });
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("tagged version")) throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#last;
    this.#table.close();
    this.#connection.close();
  }
}

/** When the version was made that was the newest at a time; that time where there was none. */
function startOfNewestAt(versions: readonly { readonly timestamp: Date }[], timeMs: number): number {
  const before = versions.map(({ timestamp }) => timestamp.getTime()).filter((madeMs) => madeMs <= timeMs);
  return before.length === 0 ? timeMs : Math.max(...before);
}
