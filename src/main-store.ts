import { join } from "node:path";
import { FileSlotFiles } from "./adapter/journaled/slot-file.ts";
import { JournaledStore } from "./adapter/journaled/store.ts";
import { LmdbStore, type LmdbStoreOptions } from "./adapter/lmdb/store.ts";
import { makeKey, tables } from "./engine/keys.ts";
import type { Store } from "./port/store.ts";

/** The store of a data folder that this process has for itself, with the file that makes small appends durable sooner. */
export async function openMainStore(dataDir: string, onFatal?: LmdbStoreOptions["onFatal"]): Promise<Store> {
  const folder = join(dataDir, "store");
  const inner = new LmdbStore(folder, { exclusive: true, ...(onFatal === undefined ? {} : { onFatal }) });
  try {
    const files = new FileSlotFiles(join(folder, "journal"));
    return JournaledStore.open(inner, { table: tables.journal, mark: makeKey(tables.journalMark), files });
  } catch (error) {
    await inner.close();
    throw error;
  }
}
