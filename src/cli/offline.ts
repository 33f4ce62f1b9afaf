import { join } from "node:path";
import { FilesObjectStore } from "../adapter/files/object-store.ts";
import { filesOfVersion } from "../adapter/lance/files.ts";
import { NodeClock } from "../adapter/node/clock.ts";
import { SingleOwnership } from "../adapter/single/ownership.ts";
import { openAuthStore } from "../composition/auth-store.ts";
import { openMainStore } from "../composition/main-store.ts";
import { version } from "../composition/version.ts";
import { Backups } from "../engine/backup/backups.ts";
import { ObjectHold } from "../engine/collection/object-hold.ts";
import { type Store, StoreError } from "../port/store.ts";
import { CommandFailure } from "./command.ts";

/** A data directory that no server uses, opened for as long as a command needs it. */
export interface OfflineData extends AsyncDisposable {
  readonly store: Store;
  readonly objects: FilesObjectStore;
  readonly backups: Backups;
  readonly ownership: SingleOwnership;
}

export async function openOffline(dataDir: string): Promise<OfflineData> {
  await using opened = new AsyncDisposableStack();
  const ownership = opened.use(new SingleOwnership(dataDir));
  try {
    await ownership.acquire(AbortSignal.timeout(10_000));
  } catch (error) {
    throw new CommandFailure(
      "failed_precondition",
      (error as Error).message,
      "stop the server, or leave --data-dir away to ask the running one",
    );
  }
  const objects = new FilesObjectStore(join(dataDir, "objects"));
  let store: Store;
  try {
    store = opened.adopt(await openMainStore(dataDir), (each) => each.close());
  } catch (error) {
    if (error instanceof StoreError) throw new CommandFailure("data_loss", error.message);
    throw error;
  }
  const authStore = opened.adopt(openAuthStore(dataDir), (each) => each.close());
  const backups = new Backups({
    store,
    authStore,
    objects,
    hold: new ObjectHold(),
    clock: new NodeClock(),
    serverVersion: version,
    datasetFiles: filesOfVersion,
  });
  const closing = opened.move();
  return { store, objects, backups, ownership, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}
