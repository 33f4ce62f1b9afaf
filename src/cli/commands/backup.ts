import { createReadStream, existsSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ArchiveError } from "../../engine/backup/tar.ts";
import { type ArchiveSummary, verifyArchive } from "../../engine/backup/verify.ts";
import { syncFolder } from "../../port/sync-folder.ts";
import { CommandFailure } from "../command.ts";
import type { Context } from "../context.ts";
import { formatBytes } from "../output.ts";
import { Progress } from "../progress.ts";
import type { Run } from "../spec.ts";

export const backup: Run = async (context) => {
  const file = context.arg(0);
  if (context.flag("verify")) {
    const summary = await verified(createReadStream(file, { highWaterMark: 1024 * 1024 }));
    await tell(context, file, summary, "is complete");
    return undefined;
  }
  if (existsSync(file)) throw new CommandFailure("already_exists", `${file} exists; a backup replaces nothing`);
  const dataDir = context.text("data-dir");
  const summary =
    dataDir === undefined
      ? await save(context, file, await fromServer(context))
      : await fromFolder(dataDir, (pieces) => save(context, file, pieces));
  await tell(context, file, summary, "holds the instance");
  return undefined;
};

async function tell(context: Context, file: string, { head, members, bytes, entries }: ArchiveSummary, what: string) {
  const value = { file, created_at: head.created_at, members, bytes, entries };
  await context.out.value(
    value,
    () =>
      `${file} ${what} as of ${head.created_at}: ${formatBytes(bytes)}, ${entries.store} entries, every checksum right`,
  );
}

/** Archive errors are the archive's fault, not the program's. */
export async function verified(...args: Parameters<typeof verifyArchive>): Promise<ArchiveSummary> {
  try {
    return await verifyArchive(...args);
  } catch (error) {
    if (error instanceof ArchiveError) throw new CommandFailure("data_loss", error.message, "take another backup");
    throw error;
  }
}

async function fromServer(context: Context): Promise<AsyncIterable<Uint8Array>> {
  const response = await context.client.stream({
    method: "POST",
    path: "/v1/instance/backup",
    repeatable: false,
    kind: "read",
    signal: context.signal,
  });
  return response.body!;
}

/** Reads a data directory that no server uses, as the server would. */
async function fromFolder<T>(dataDir: string, use: (pieces: AsyncIterable<Uint8Array>) => Promise<T>): Promise<T> {
  if (!existsSync(join(dataDir, "store"))) throw new CommandFailure("not_found", `${dataDir} holds no data`);
  const { openOffline } = await import("../offline.ts");
  await using data = await openOffline(dataDir);
  return await use(data.backups.begin());
}

/** The file appears under its name when all of it is there, verified and synced. */
async function save(context: Context, file: string, pieces: AsyncIterable<Uint8Array>): Promise<ArchiveSummary> {
  const partial = `${file}.partial`;
  try {
    const summary = await write(context, partial, pieces);
    renameSync(partial, file);
    await syncFolder(dirname(file));
    return summary;
  } catch (error) {
    rmSync(partial, { force: true });
    // What fetch throws when the connection ends under way.
    if (!(error instanceof TypeError)) throw error;
    throw new CommandFailure("unavailable", `the backup was cut short: ${error.message}`, "try again");
  }
}

async function write(context: Context, partial: string, pieces: AsyncIterable<Uint8Array>): Promise<ArchiveSummary> {
  const progress = new Progress(context.io.stderr, "bytes", 0);
  const handle = await open(partial, "w", 0o600);
  let written = 0;
  const tee = (async function* () {
    for await (const piece of pieces) {
      await handle.writeFile(piece);
      written += piece.length;
      progress.update(written, undefined);
      yield piece;
    }
  })();
  try {
    const summary = await verified(tee);
    // What follows the last member.
    for await (const _ of tee);
    await handle.sync();
    return summary;
  } finally {
    progress.end();
    // A connection that is still open is ended with it.
    await tee.return(undefined);
    await handle.close();
  }
}
