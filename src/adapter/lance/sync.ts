import { open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";

async function syncPath(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Lance leaves what it wrote to the page cache, so a power cut could take a version that the manifest names. This
 * syncs the files that appeared since the last call, then their folders, and the first time the folder that names the
 * dataset. Lance never changes a file it has written, except the hint of the newest version, which it can do without.
 */
export class DatasetSync {
  readonly #root: string;
  #known = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  async run(): Promise<void> {
    const seen = new Set<string>();
    const isNew = this.#known.size === 0;
    await this.#folder(this.#root, seen);
    if (isNew) await syncPath(dirname(this.#root));
    this.#known = seen;
  }

  async #folder(folder: string, seen: Set<string>): Promise<void> {
    let grew = !this.#known.has(folder);
    seen.add(folder);
    const syncs: Promise<void>[] = [];
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      const known = this.#known.has(path);
      grew ||= !known;
      if (entry.isDirectory()) {
        syncs.push(this.#folder(path, seen));
      } else {
        seen.add(path);
        if (!known) syncs.push(syncPath(path));
      }
    }
    await Promise.all(syncs);
    if (grew) await syncPath(folder);
  }
}
