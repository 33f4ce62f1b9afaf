import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncFolder } from "../../port/sync-folder.ts";

const versionsFolder = "_versions";
const hint = "latest_version_hint.json";
/** Lance counts down, so that the newest version comes first in a list. */
const lastNumber = 2n ** 64n - 1n;

/**
 * Which version of a dataset was the last to be synced, in a file beside it. Lance makes a version by giving a file its name,
 * without a sync, so a power cut may leave the name of a version whose files are empty or torn. Lance would take it for the newest
 * one, and no longer open the dataset, or worse, open it as an empty one. What is newer than the last synced version is nobody's:
 * the change that made it was never reported as done, and is applied again.
 */
export class SyncedVersion {
  readonly #root: string;
  readonly #file: string;

  constructor(root: string) {
    this.#root = root;
    this.#file = `${root}.synced`;
  }

  /** Before the dataset is opened or made: leaves no version that was not synced. */
  async prepare(): Promise<void> {
    const last = await this.#read();
    const isThere = (await stat(this.#root).catch(() => undefined)) !== undefined;
    // A dataset without the file comes from a backup or an older build: all its versions count.
    if (last === undefined && isThere) return;
    if (last === undefined) await this.write(0);
    else if (last === 0) await rm(this.#root, { recursive: true, force: true });
    else if (isThere) await this.#removeAfter(last);
  }

  async #removeAfter(last: number): Promise<void> {
    const folder = join(this.#root, versionsFolder);
    for (const name of await readdir(folder)) {
      const [, number] = /^(\d{20})\.manifest$/.exec(name) ?? [];
      if (number !== undefined && lastNumber - BigInt(number) > BigInt(last)) await rm(join(folder, name));
    }
    await rm(join(folder, hint), { force: true });
  }

  async #read(): Promise<number | undefined> {
    const text = await readFile(this.#file, "utf8").catch(() => undefined);
    return text === undefined || !/^\d+\n$/.test(text) ? undefined : Number(text);
  }

  /** The version and all before it are on the disk. */
  async write(version: number): Promise<void> {
    const partial = `${this.#file}.partial`;
    const file = await open(partial, "w");
    try {
      await file.writeFile(`${version}\n`);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(partial, this.#file);
    await syncFolder(dirname(this.#file));
  }

  async drop(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}
