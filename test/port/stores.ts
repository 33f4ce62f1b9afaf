import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { FileCommitLog } from "../../src/adapter/file-log/commit-log.ts";
import { LogFolder } from "../../src/adapter/file-log/folder.ts";
import { pageBytes } from "../../src/adapter/file-log/format.ts";
import { LmdbApplier } from "../../src/adapter/lmdb/applier.ts";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { type LoggedSettings, LoggedStore } from "../../src/adapter/logged/store.ts";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import type { Range, Reader, Store } from "../../src/port/store.ts";
import { MemoryLogDisk } from "../support/memory-log-disk.ts";
import { temporaryFolder } from "../support/process.ts";

interface Opened extends AsyncDisposable {
  readonly store: Store;
}

const mark = Buffer.from("\xfe mark", "latin1");

async function openLogged(settings: Partial<LoggedSettings>): Promise<Opened> {
  const log = await FileCommitLog.open(new MemoryLogDisk(), { segmentBytes: 3 * pageBytes, firstBytes: pageBytes });
  const view = new MemoryStore();
  const store = await LoggedStore.open({ view, log, clock: new NodeClock(), mark, settings });
  return { store, [Symbol.asyncDispose]: () => store.close() };
}

/** Every adapter of the port; each test opens an empty store. */
export const stores: Readonly<Record<string, () => Promise<Opened>>> = {
  memory: async () => {
    const store = new MemoryStore();
    return { store, [Symbol.asyncDispose]: () => store.close() };
  },
  /** Its view follows at once; the other one's is always behind. */
  logged: () => openLogged({ applyBytes: 1 }),
  "logged, behind": () => openLogged({ applyBytes: 200, applyDelayMs: 1e6, stepBytesMax: 100, overlayBytesMax: 500 }),
  /** As the server has it: LMDB is brought up to date by another thread. */
  main: async () => {
    const folder = await temporaryFolder();
    const lmdb = new LmdbStore(folder);
    const log = await FileCommitLog.open(new LogFolder(join(folder, "log")));
    const settings = { applyBytes: 300, applyDelayMs: 5 };
    const applier = new LmdbApplier(lmdb, folder);
    const store = await LoggedStore.open({ view: lmdb, applier, log, clock: new NodeClock(), mark, settings });
    return {
      store,
      async [Symbol.asyncDispose]() {
        await store.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
  lmdb: async () => {
    const folder = await temporaryFolder();
    const store = new LmdbStore(folder);
    return {
      store,
      async [Symbol.asyncDispose]() {
        await store.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
};

export function bytes(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

export function text(given: Uint8Array): string {
  return Buffer.from(given).toString("latin1");
}

export function entries(reader: Reader, range: Range = {}): [string, string][] {
  const copied = [...reader.range(range)].map(({ key, value }): [string, string] => [text(key), text(value)]);
  const borrowed = Array.from(reader.borrow(range), ({ key, value }): [string, string] => [text(key), text(value)]);
  assert.deepEqual(borrowed, copied);
  return copied;
}
