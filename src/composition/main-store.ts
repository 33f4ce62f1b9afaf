import { statfsSync } from "node:fs";
import { join } from "node:path";
import { FileCommitLog } from "../adapter/file-log/commit-log.ts";
import { LogFolder } from "../adapter/file-log/folder.ts";
import { LmdbApplier } from "../adapter/lmdb/applier.ts";
import { takeOverSlotFile } from "../adapter/lmdb/slot-file.ts";
import { LmdbStore, type LmdbStoreOptions } from "../adapter/lmdb/store.ts";
import { LoggedStore } from "../adapter/logged/store.ts";
import { NodeClock } from "../adapter/node/clock.ts";
import { checkFormat } from "../engine/format.ts";
import { makeKey, tables } from "../engine/keys.ts";
import type { Store } from "../port/store.ts";

export interface MainStoreOptions {
  readonly onFatal?: LmdbStoreOptions["onFatal"];
  readonly onError?: (error: unknown) => void;
}

/**
 * The store of a data folder that this process has for itself: a commit log in `log`, and LMDB in `store` as its view. What a build before
 * the commit log has left is brought to today's form first, in LMDB alone, so that a build which knows no log refuses the folder from then on.
 */
export async function openMainStore(dataDir: string, options: MainStoreOptions = {}): Promise<Store> {
  const folder = join(dataDir, "store");
  const { onFatal, onError } = options;
  const view = new LmdbStore(folder, { exclusive: true, ...(onFatal && { onFatal }) });
  try {
    await takeOverSlotFile(view, folder, makeKey(tables.journalMark));
    await checkFormat(view);
    const mark = makeKey(tables.commitLog);
    const mayCreate = view.get(mark) === undefined;
    const log = await FileCommitLog.open(new LogFolder(join(dataDir, "log")), { mayCreate });
    return await LoggedStore.open({
      view,
      applier: new LmdbApplier(view, folder),
      log,
      clock: new NodeClock(),
      mark,
      freeBytes: () => freeBytes(dataDir),
      ...(onError && { onError }),
    });
  } catch (error) {
    await view.close();
    throw error;
  }
}

export function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}
