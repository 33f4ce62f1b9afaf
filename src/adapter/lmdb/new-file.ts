import { closeSync, fdatasyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolderNow } from "../../port/sync-folder.ts";

/**
 * Makes the store's file so that it appears under its name only when it is whole and synced. LMDB by itself writes the
 * first pages in place and syncs neither them nor the name: a power cut could leave half a file, which no start
 * accepts, or none, with everything that was acknowledged until then.
 */
export function makeFile(file: string, create: (path: string) => void): void {
  const fresh = `${file}.new`;
  const remove = () => {
    for (const path of [fresh, `${fresh}-lock`]) rmSync(path, { force: true });
  };
  remove();
  create(fresh);
  syncFile(fresh);
  renameSync(fresh, file);
  remove();
}

/** The names of the file, of its folder, and of the data folder, which may all be new, are on the disk after this. */
export function syncNames(directory: string): void {
  const data = dirname(directory);
  for (const folder of [directory, data]) syncFolderNow(folder);
  try {
    syncFolderNow(dirname(data));
  } catch {
    // The folder above the data folder is the operator's, and may not be ours to open.
  }
}

function syncFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
