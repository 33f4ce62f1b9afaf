import { createReadStream, mkdirSync, readdirSync, rmSync } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { LmdbStore } from "../../adapter/lmdb/store.ts";
import { SingleOwnership } from "../../adapter/single/ownership.ts";
import { loadConfig } from "../../composition/config/config.ts";
import { makeDataFolder } from "../../composition/data-folder.ts";
import { decodeEntries, type StoreName, storeNames } from "../../engine/backup/archive.ts";
import { syncFolder } from "../../port/sync-folder.ts";
import { CommandFailure } from "../command.ts";
import { formatBytes } from "../output.ts";
import { Progress } from "../progress.ts";
import type { Run } from "../spec.ts";
import { verified } from "./backup.ts";

/** Below the data directory, so that what was verified is put in its place by renames alone. */
const workFolder = ".restoring";

export const restore: Run = async (context) => {
  const file = context.arg(0);
  const option = context.text("data-dir");
  const { dataDir } = loadConfig({ argv: option === undefined ? [] : ["--data-dir", option], env: context.env });
  makeDataFolder(dataDir);
  await using ownership = new SingleOwnership(dataDir);
  await ownership.acquire(AbortSignal.timeout(10_000)).catch((error: Error) => {
    throw new CommandFailure("failed_precondition", error.message, "stop the server first");
  });
  const work = join(dataDir, workFolder);
  // What an earlier restore left that was cut short.
  rmSync(work, { recursive: true, force: true });
  const there = readdirSync(dataDir);
  if (there.length > 0) {
    const message = `${dataDir} is not empty: it has ${there.slice(0, 3).join(", ")}`;
    throw new CommandFailure("failed_precondition", message, "name an empty folder with --data-dir");
  }
  const progress = new Progress(context.io.stderr, "bytes", 0);
  const target = new RestoreTarget(work);
  try {
    let read = 0;
    const pieces = (async function* () {
      for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
        context.signal.throwIfAborted();
        read += piece.length;
        progress.update(read, undefined);
        yield piece as Buffer;
      }
    })();
    const { head, bytes, entries } = await verified(pieces, target);
    await target.close();
    if (target.written.store !== entries.store || target.written.auth !== entries.auth) {
      throw new CommandFailure("data_loss", "the backup's number of entries does not match its manifest");
    }
    for (const name of readdirSync(work)) await rename(join(work, name), join(dataDir, name));
    rmSync(work, { recursive: true });
    await syncFolder(dataDir);
    const value = { data_dir: dataDir, created_at: head.created_at, bytes, entries };
    await context.out.value(
      value,
      () =>
        `${dataDir} holds the instance as of ${head.created_at} (${formatBytes(bytes)}); start it with \`native-engine serve --data-dir ${dataDir}\``,
    );
  } finally {
    progress.end();
    await target.close();
    rmSync(work, { recursive: true, force: true });
  }
  return undefined;
};

/** Stores and objects as the archive gives them. */
class RestoreTarget {
  readonly written: Record<StoreName, number> = { store: 0, auth: 0 };
  readonly #folder: string;
  readonly #stores = new Map<StoreName, LmdbStore>();
  readonly #folders = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
    for (const name of storeNames) {
      const path = join(folder, name);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      this.#stores.set(name, new LmdbStore(path, name === "store" ? { exclusive: true } : {}));
    }
  }

  async entries(name: StoreName, data: Buffer): Promise<void> {
    const ops = [...decodeEntries(data)].map(({ key, value }) => ({ kind: "put", key, value }) as const);
    await this.#stores.get(name)!.commit(ops);
    this.written[name] += ops.length;
  }

  async object(path: string, data: AsyncIterable<Uint8Array>): Promise<void> {
    const root = resolve(this.#folder, "objects");
    const target = resolve(root, path);
    if (!target.startsWith(root + sep))
      throw new CommandFailure("data_loss", `the path of object ${path} leads outside its folder`);
    await mkdir(dirname(target), { recursive: true });
    this.#folders.add(dirname(target));
    const handle = await open(target, "wx");
    try {
      for await (const piece of data) await handle.write(piece);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  async close(): Promise<void> {
    const stores = [...this.#stores.values()];
    this.#stores.clear();
    for (const store of stores) await store.close();
    for (const folder of this.#folders) await syncFolder(folder);
    this.#folders.clear();
  }
}
