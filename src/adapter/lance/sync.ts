import { open, readdir } from "node:fs/promises";
import { join } from "node:path";

async function syncPath(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function missing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/**
 * Lance leaves what it wrote to the page cache, so a power cut could take a version that the manifest names. This
 * syncs the files that appeared since the last call, then their folders. Lance never changes a file it has written,
 * except the hint of the newest version, which it can do without.
 */
export class DatasetSync {
  readonly #root: string;
  #known = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  async run(): Promise<void> {
    const seen = new Set<string>();
    await this.#folder(this.#root, seen);
    this.#known = seen;
  }

  async #folder(folder: string, seen: Set<string>): Promise<void> {
    let grew = !this.#known.has(folder);
    seen.add(folder);
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        grew ||= !this.#known.has(path);
        await this.#folder(path, seen);
      } else {
        seen.add(path);
        if (this.#known.has(path)) continue;
        grew = true;
        await syncPath(path).catch((error: unknown) => {
          if (!missing(error)) throw error;
        });
      }
    }
    if (grew) await syncPath(folder);
  }
}
