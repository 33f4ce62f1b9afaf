import { mkdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Connection, Session, Table } from "@lancedb/lancedb";
import { type Columnar, type ColumnarDataset, ColumnarError, type ColumnarSchema } from "../../port/columnar.ts";
import { arrowSchema } from "./batch.ts";
import { LanceDataset } from "./dataset.ts";
import { lanceLimits } from "./limits.ts";
import { loadLance } from "./load.ts";

const extension = ".lance";
const tableList = "__manifest";
/** The newest of Lance's formats that compresses a page of text as one; later ones do it value by value. */
const storageOptions = { new_table_data_storage_version: "2.0", new_table_enable_v2_manifest_paths: "true" };

/** Lance datasets in folders of this machine. Make one for each thread that writes: the handles can't be shared. */
export class LanceColumnar implements Columnar {
  #session: Session | undefined;

  async open(path: string, schema: ColumnarSchema): Promise<ColumnarDataset> {
    const { lance, arrow } = loadLance();
    const full = localPath(path);
    await mkdir(dirname(full), { recursive: true });
    // Lancedb's list of the tables beside this one, never synced: what a power cut left of it must not be in the way. It
    // is made anew, and the table is found by its folder.
    await rm(join(dirname(full), tableList), { recursive: true, force: true });
    this.#session ??= new lance.Session(BigInt(lanceLimits.indexCacheBytes), BigInt(lanceLimits.metadataCacheBytes));
    const connection = await lance.connect(dirname(full), {}, this.#session);
    const name = basename(full, extension);
    const table =
      (await openTable(connection, name)) ??
      (await connection.createEmptyTable(name, arrowSchema(arrow, schema, new Set()), { storageOptions }));
    const dataset = new LanceDataset(full, connection, table, schema, await table.schema());
    try {
      await dataset.addColumns(schema);
    } catch (error) {
      await dataset.close();
      throw error;
    }
    return dataset;
  }

  async drop(path: string): Promise<void> {
    await rm(localPath(path), { recursive: true, force: true });
  }
}

function localPath(path: string): string {
  if (!path.endsWith(extension)) throw new ColumnarError("failed", `the path of a dataset ends with ${extension}`);
  return resolve(path);
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
