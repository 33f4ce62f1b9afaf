import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LmdbStore } from "./adapter/lmdb/store.ts";
import { SingleOwnership } from "./adapter/single/ownership.ts";
import { unavailable } from "./engine/errors.ts";

const folderName = "auth";
const lockWaitMsMax = 10_000;
const lockRetryMs = 20;

/**
 * API keys and the instance's own data live in a store of their own, which the command line may write while the server
 * runs. It holds the signing keys, so nobody else may look into its folder.
 */
export function openAuthStore(dataDir: string): LmdbStore {
  mkdirSync(join(dataDir, folderName), { recursive: true, mode: 0o700 });
  return new LmdbStore(join(dataDir, folderName), { shared: true });
}

/** Runs a step that reads the instance's data and then writes them, one process at a time. */
export async function exclusively<T>(dataDir: string, run: () => Promise<T>): Promise<T> {
  const folder = join(dataDir, folderName);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = new SingleOwnership(folder);
  for (let waitedMs = 0; ; waitedMs += lockRetryMs) {
    try {
      await lock.acquire(AbortSignal.timeout(lockWaitMsMax));
      break;
    } catch (error) {
      if (waitedMs >= lockWaitMsMax) throw unavailable("another command holds the instance's data", error);
      await sleep(lockRetryMs);
    }
  }
  try {
    return await run();
  } finally {
    await lock[Symbol.asyncDispose]();
  }
}

/** A command of the command line on the instance's data, whether or not a server runs on them. */
export async function onInstanceData<T>(dataDir: string, run: (store: LmdbStore) => Promise<T>): Promise<T> {
  const store = openAuthStore(dataDir);
  try {
    return await exclusively(dataDir, () => run(store));
  } finally {
    await store.close();
  }
}
