import { mkdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Connection, Session, Table } from "@lancedb/lancedb";
import { type Columnar, type ColumnarDataset, ColumnarError, type ColumnarSchema } from "../../port/columnar.ts";
import { arrowSchema } from "./batch.ts";
import { LanceDataset } from "./dataset.ts";
import { lanceLimits } from "./limits.ts";
import { loadLance } from "./load.ts";
import { SyncedVersion } from "./synced-version.ts";

const extension = ".lance";
const tableList = "__manifest";
/** The newest of Lance's formats that compresses a page of text as one; later ones do it value by value. */
const storageOptions = { new_table_data_storage_version: "2.0", new_table_enable_v2_manifest_paths: "true" };

export interface LanceOptions {
  /** A writer that is no longer the owner may still be at work. */
  readonly isShared?: boolean;
  /** How the datasets' storage is reached; without it they are folders of this machine. */
  readonly storage?: Readonly<Record<string, string>>;
}

/** Lance datasets in folders of this machine, or in a bucket. Make one for each thread that writes: the handles can't be shared. */
export class LanceColumnar implements Columnar {
  readonly #options: LanceOptions;
  #session: Session | undefined;

  constructor(options: LanceOptions = {}) {
    this.#options = options;
  }

  async open(path: string, schema: ColumnarSchema): Promise<ColumnarDataset> {
    const { lance, arrow } = loadLance();
    const { isShared = false, storage } = this.#options;
    const full = this.#placeOf(path);
    if (storage === undefined) await prepareFolder(full);
    this.#session ??= new lance.Session(BigInt(lanceLimits.indexCacheBytes), BigInt(lanceLimits.metadataCacheBytes));
    const connection = await lance.connect(
      dirname(full),
      storage === undefined ? {} : { storageOptions: { ...storage } },
      this.#session,
    );
    const name = basename(full, extension);
    const known = await openTable(connection, name);
    const table =
      known ?? (await connection.createEmptyTable(name, arrowSchema(arrow, schema, new Set()), { storageOptions }));
    const dataset = new LanceDataset(full, connection, table, schema, await table.schema(), {
      isLocal: storage === undefined,
      isShared,
    });
    try {
      await dataset.addColumns(schema);
      if (known === undefined) await dataset.synced();
    } catch (error) {
      await dataset.close();
      throw error;
    }
    return dataset;
  }

  async drop(path: string): Promise<void> {
    const full = this.#placeOf(path);
    if (this.#options.storage !== undefined) throw new ColumnarError("failed", "objects of a bucket are deleted there");
    await rm(full, { recursive: true, force: true });
    await new SyncedVersion(full).drop();
  }

  #placeOf(path: string): string {
    if (!path.endsWith(extension)) throw new ColumnarError("failed", `the path of a dataset ends with ${extension}`);
    return this.#options.storage === undefined ? resolve(path) : path;
  }
}

async function prepareFolder(full: string): Promise<void> {
  await mkdir(dirname(full), { recursive: true });
  // Lancedb's list of the tables beside this one, never synced: what a power cut left of it must not be in the way. It
  // is made anew, and the table is found by its folder.
  await rm(join(dirname(full), tableList), { recursive: true, force: true });
  await new SyncedVersion(full).prepare();
}

async function openTable(connection: Connection, name: string): Promise<Table | undefined> {
  try {
    return await connection.openTable(name);
  } catch (error) {
    // Lancedb has no code for it. What a crash left of an unfinished creation is no table either.
    if (error instanceof Error && /not found/i.test(error.message)) return undefined;
    throw new ColumnarError("failed", `can't open the dataset ${name}`, error);
  }
}
