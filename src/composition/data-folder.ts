import { existsSync, mkdirSync, rmdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { invalid } from "../engine/errors.ts";

/** Made and removed at once, to see whether the folder can be written to. */
const probeName = ".probe";

/** What the folder holds, each a folder of its own. */
const partNames = ["store", "log", "auth", "objects"];

/**
 * Makes the data folder where it is missing, and sees to it that something can be written there: whatever is in the way
 * is reported now with the folder's name; a store would fail later with a message of its own.
 */
export function makeDataFolder(dataDir: string): void {
  const folder = resolve(dataDir);
  try {
    makeFolders(folder);
    const probe = join(folder, probeName);
    makeFolder(probe);
    rmdirSync(probe);
    for (const name of partNames) {
      const part = statSync(join(folder, name), { throwIfNoEntry: false });
      if (part?.isDirectory() === false) throw new Error(`${name} is no folder`);
    }
  } catch (error) {
    throw invalid("data-dir", `${folder} can't be used: ${(error as Error).message}`);
  }
}

/** Node's own way to make all that is missing never returns where nothing can be made in a folder that is there, as in /proc. */
function makeFolders(folder: string): void {
  const missing: string[] = [];
  for (let each = folder; !existsSync(each) && each !== dirname(each); each = dirname(each)) missing.push(each);
  for (const each of missing.reverse()) makeFolder(each);
  if (!statSync(folder).isDirectory()) throw new Error("it is no folder");
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
