import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";

/** The names in the folder are on the disk after this: those of files that were made, moved or removed in it. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

export function syncFolderNow(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
