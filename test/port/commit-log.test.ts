import { rm } from "node:fs/promises";
import { FileCommitLog } from "../../src/adapter/file-log/commit-log.ts";
import type { LogDisk } from "../../src/adapter/file-log/disk.ts";
import { LogFolder } from "../../src/adapter/file-log/folder.ts";
import { pageBytes } from "../../src/adapter/file-log/format.ts";
import { MemoryCommitLog } from "../../src/adapter/memory/commit-log.ts";
import { MemorySharedLog } from "../../src/adapter/memory/shared-log.ts";
import { MemoryLogDisk } from "../support/memory-log-disk.ts";
import { temporaryFolder } from "../support/process.ts";
import { openReplicated } from "../support/replicated-log.ts";
import { commitLogSuite, type OpenedLog } from "./commit-log-suite.ts";

const small = { segmentBytes: 4 * pageBytes, firstBytes: pageBytes, growBytes: 2 * pageBytes };

/** A file log, and the same one opened again. */
async function openFile(make: () => LogDisk): Promise<Required<OpenedLog>> {
  let current = await FileCommitLog.open(make(), small);
  return {
    log: current,
    async reopen() {
      await current.close();
      current = await FileCommitLog.open(make(), small);
      return current;
    },
    [Symbol.asyncDispose]: () => current.close(),
  };
}

async function openFolder(mayBypass: boolean): Promise<OpenedLog> {
  const folder = await temporaryFolder();
  const opened = await openFile(() => new LogFolder(folder, mayBypass));
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Every adapter of the port; each test opens an empty log. */
const adapters: Readonly<Record<string, () => Promise<OpenedLog>>> = {
  memory: async () => {
    const log = new MemoryCommitLog();
    return { log, [Symbol.asyncDispose]: () => log.close() };
  },
  "file on a disk in memory": () => {
    const disk = new MemoryLogDisk();
    return openFile(() => disk);
  },
  "shared by nodes, in memory": () => {
    const shared = new MemorySharedLog(2 * pageBytes);
    return openReplicated(() => shared);
  },
  file: () => openFolder(true),
  "file, all of it through the page cache": () => openFolder(false),
};

/** Those that wait for a device. */
const runs: Readonly<Record<string, number>> = {
  file: 15,
  "file, all of it through the page cache": 15,
  "shared by nodes, in memory": 15,
};

for (const [name, open] of Object.entries(adapters)) commitLogSuite(name, open, runs[name]);
