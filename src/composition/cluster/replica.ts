import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import { LmdbStore } from "../../adapter/lmdb/store.ts";
import { storedMark } from "../../adapter/logged/store.ts";
import type { Cursor } from "../../adapter/replicated/fold.ts";
import type { MarkReader, Snapshots } from "../../adapter/replicated/snapshot.ts";
import { makeKey, tables } from "../../engine/keys.ts";
import type { SharedLog } from "../../port/shared-log.ts";
import { StoreError } from "../../port/store.ts";
import { syncFolder } from "../../port/sync-folder.ts";

export interface ReplicaOptions {
  readonly folder: string;
  readonly log: SharedLog;
  readonly snapshots: Snapshots;
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
}

/** Where a node's copy of the store remembers how far it has come in the log. */
export const commitMark = makeKey(tables.commitLog);

export const markOf: MarkReader = (view) => storedMark(view, commitMark);

/**
 * Opens this node's copy of the store. Where there is none, or the log no longer reaches back to it, it is made from the newest snapshot that
 * is whole: everything in it was in the log.
 */
export async function openReplica(options: ReplicaOptions): Promise<LmdbStore> {
  const { folder, log, onFatal } = options;
  const { start } = await log.bounds();
  const view = existsSync(join(folder, "data.mdb")) ? new LmdbStore(folder, { exclusive: true, onFatal }) : undefined;
  const mark = view && storedMark(view, commitMark);
  const next = (mark?.cursor as Cursor | undefined)?.next ?? 0;
  // A store of another log is reported where the two are put together.
  const isAnothers = mark !== undefined && mark.log !== log.id;
  if (view !== undefined && mark !== undefined && (next >= start || isAnothers)) return view;
  await view?.close();
  await restoreNewest(options, start);
  return new LmdbStore(folder, { exclusive: true, onFatal });
}

async function restoreNewest({ folder, log, snapshots, logger }: ReplicaOptions, start: number): Promise<void> {
  const partial = `${folder}.partial`;
  try {
    for (const found of await snapshots.list()) {
      await rm(partial, { recursive: true, force: true });
      const into = new LmdbStore(partial, { exclusive: true });
      try {
        const { position, entries } = await snapshots.restore(found, into);
        await into.close();
        await replaceFolder(partial, folder);
        logger.info({ position, entries }, "cluster: the store was made from a snapshot");
        return;
      } catch (err) {
        await into.close();
        if (!(err instanceof StoreError) || err.kind !== "damaged") throw err;
        logger.warn({ err, snapshot: found.name }, "cluster: a snapshot can't be used; an older one is tried");
      }
    }
  } catch (err) {
    // The whole log is there, which takes longer.
    if (start > 0) throw new StoreError("failed", "the snapshots of the cluster can't be read", err);
    logger.warn({ err }, "cluster: the snapshots can't be read; the log is read from its beginning");
  }
  if (start === 0) return;
  throw new StoreError(
    "failed",
    `the log ${log.id} begins at ${start}, and there is no whole snapshot to begin with: is SERVICE_CLUSTER_OBJECTS that of the other nodes?`,
  );
}

async function replaceFolder(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await rename(from, to);
  await syncFolder(dirname(to));
}
