import type { Clock } from "../../port/clock.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { makeKey, prefixRange, readU64, tables } from "../keys.ts";
import type { Log } from "../log/log.ts";
import { liveStreamName, type Metastore } from "../metastore/metastore.ts";
import { liveLimits } from "./settings.ts";

export interface CollectorDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly log: Log;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const pauseMs = 1_000;

/** Frees in the background what lies beyond the history, and what was dropped. */
export class Collector {
  readonly #deps: CollectorDeps;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(deps: CollectorDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#running = this.#loop();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { clock, onError } = this.#deps;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#collect();
        await this.#reclaim();
      } catch (error) {
        if (!this.#stop.signal.aborted) onError(error);
      }
      await clock.sleep(pauseMs, this.#stop.signal);
    }
  }

  async #collect(): Promise<void> {
    const { store, metastore, log, committer } = this.#deps;
    const names = new Map(Array.from(metastore.namespaces(), ({ id, name }) => [id, name]));
    for (const key of [...store.keys(prefixRange(tables.liveMeta))]) {
      const id = readU64(key, 1);
      const name = names.get(id);
      if (name === undefined) continue;
      const start = log.startOffset(metastore.stream(name, liveStreamName), 0);
      const range = { from: makeKey(tables.liveExpiry, id), to: makeKey(tables.liveExpiry, id, start) };
      for (;;) {
        if (this.#stop.signal.aborted) return;
        const lists = [...store.range({ ...range, limit: liveLimits.collectStepMax })];
        if (lists.length === 0) break;
        await committer.submit((draft) => {
          for (const list of lists) {
            for (const former of decodeKeys(list.value)) draft.delete(former);
            draft.delete(list.key);
          }
        });
      }
    }
  }

  /** Tables and indexes that were dropped, each named by a marker: namespace, table, and the index or 0 for all. */
  async #reclaim(): Promise<void> {
    const { store, committer } = this.#deps;
    for (const marker of [...store.keys(prefixRange(tables.droppedLiveTable))]) {
      const [namespace, table, index] = [readU64(marker, 1), readU64(marker, 9), readU64(marker, 17)];
      const parts = index === 0 ? [namespace, table] : [namespace, table, index];
      const all = [tables.liveDocument, tables.liveHistory, tables.liveIndex, tables.liveIndexHistory];
      for (const tag of index === 0 ? all : [tables.liveIndex, tables.liveIndexHistory]) {
        const range = { ...prefixRange(tag, ...parts), limit: liveLimits.collectStepMax };
        for (;;) {
          if (this.#stop.signal.aborted) return;
          const keys = [...store.keys(range)];
          if (keys.length === 0) break;
          await committer.submit((draft) => {
            for (const key of keys) draft.delete(key);
          });
        }
      }
      await committer.submit((draft) => draft.delete(marker));
    }
  }
}

/** Keys one after another, each after its length. */
export function encodeKeys(keys: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafe(keys.reduce((sum, key) => sum + 2 + key.length, 0));
  let at = 0;
  for (const key of keys) {
    at = bytes.writeUInt16BE(key.length, at);
    at += key.copy(bytes, at);
  }
  return bytes;
}

function* decodeKeys(stored: Uint8Array): Iterable<Buffer> {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at);
    yield bytes.subarray(at + 2, end);
    at = end;
  }
}
