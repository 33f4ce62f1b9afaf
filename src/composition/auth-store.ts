import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LmdbStore } from "../adapter/lmdb/store.ts";
import { SingleOwnership } from "../adapter/single/ownership.ts";
import { unavailable } from "../engine/errors.ts";
import { checkFormat } from "../engine/format.ts";

const folderName = "auth";
const lockWaitMsMax = 10_000;
const lockRetryMs = 20;

/**
 * API keys and the instance's own data live in a store of their own, which the command line may write while the server
 * runs. It holds the signing keys, so nobody else may look into its folder.
 *
 * Where another process may use the store, open it inside `exclusively` only. Opening reads the number of the last
 * transaction from the file and then puts it into the state that all processes share: a commit between the two would
 * be undone for everybody.
 */
export function openAuthStore(dataDir: string): LmdbStore {
  return new LmdbStore(folderOf(dataDir), { shared: true });
}

/** Refuses a store that a newer build has written. Called inside `exclusively`, for it may write. */
export function checkAuthFormat(store: LmdbStore): Promise<void> {
  return checkFormat(store, { name: "the instance's store (auth)", adopts: true });
}

/** Runs a step that opens or changes the store, one process at a time. */
export async function exclusively<T>(dataDir: string, run: () => Promise<T>): Promise<T> {
  const lock = new SingleOwnership(folderOf(dataDir));
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

/** A command of the command line on the store, whether or not a server runs on it. */
export async function onAuthStore<T>(dataDir: string, run: (store: LmdbStore) => Promise<T>): Promise<T> {
  return await exclusively(dataDir, async () => {
    const store = openAuthStore(dataDir);
    try {
      await checkAuthFormat(store);
      return await run(store);
    } finally {
      await store.close();
    }
  });
}

function folderOf(dataDir: string): string {
  const folder = join(dataDir, folderName);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
