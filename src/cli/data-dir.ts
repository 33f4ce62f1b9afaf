import { onAuthStore } from "../composition/auth-store.ts";
import { loadConfig } from "../composition/config/config.ts";
import { makeDataFolder } from "../composition/data-folder.ts";
import type { Context } from "./context.ts";

/** The data directory that a command works on, made where it is missing. */
export function dataDirOf(context: Context): string {
  const option = context.text("data-dir");
  const { dataDir } = loadConfig({ argv: option === undefined ? [] : ["--data-dir", option], env: context.env });
  makeDataFolder(dataDir);
  return dataDir;
}

/** Works on the instance's own store, whether or not a server runs on the data directory. */
export async function onInstance<T>(context: Context, run: Parameters<typeof onAuthStore<T>>[1]): Promise<T> {
  return await onAuthStore(dataDirOf(context), run);
}
