import { Worker } from "node:worker_threads";
import { asBuffer } from "../../port/bytes.ts";
import { type Bytes, type Range, StoreError, type WriteOp } from "../../port/store.ts";
import type { ApplyReply, ApplyRequest, EntryRange } from "./apply-thread.ts";
import type { LmdbStore } from "./store.ts";

/** What is young in the thread is gone with its step. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

/**
 * LMDB as the view of a commit log. Steps are applied by a thread of their own: a large step in the order of its keys writes each page of the
 * tree once, and would hold the listener's thread for as long as it takes to hand over its puts.
 */
export class LmdbView {
  readonly #store: LmdbStore;
  readonly #folder: string;
  #worker: Worker | undefined;

  /** The store is open on this thread, and closed with the view. */
  constructor(store: LmdbStore, folder: string) {
    this.#store = store;
    this.#folder = folder;
  }

  async apply(entries: readonly Bytes[], mark: WriteOp): Promise<void> {
    // A new store's first mark: no reason to start the thread.
    if (entries.length === 0) return this.#store.commit([mark]);
    const reply = await this.#ask({ ranges: rangesOf(entries), mark });
    if (reply !== undefined) {
      this.#store.checkAlive();
      throw new StoreError(reply.kind, reply.message);
    }
    this.#store.refresh();
  }

  /** One request at a time. */
  #ask(request: ApplyRequest): Promise<ApplyReply> {
    const worker = this.#running();
    const { promise, resolve, reject } = Promise.withResolvers<ApplyReply>();
    const onLost = (cause: unknown) => {
      if (this.#worker === worker) this.#worker = undefined;
      reject(new StoreError("failed", "the thread that applies the commit log was lost", cause));
    };
    worker.once("message", resolve).once("error", onLost).once("exit", onLost);
    worker.postMessage(request);
    return promise.finally(() => {
      worker.off("message", resolve).off("error", onLost).off("exit", onLost);
    });
  }

  #running(): Worker {
    if (this.#worker === undefined) {
      this.#worker = new Worker(new URL("./apply-thread.ts", import.meta.url), {
        workerData: this.#folder,
        resourceLimits,
      });
      this.#worker.unref();
    }
    return this.#worker;
  }

  get(key: Bytes) {
    return this.#store.get(key);
  }

  peek(key: Bytes) {
    return this.#store.peek(key);
  }

  head(key: Bytes, bytesMax: number) {
    return this.#store.head(key, bytesMax);
  }

  range(range: Range) {
    return this.#store.range(range);
  }

  borrow(range: Range) {
    return this.#store.borrow(range);
  }

  keys(range: Range) {
    return this.#store.keys(range);
  }

  snapshot() {
    return this.#store.snapshot();
  }

  stats() {
    return this.#store.stats();
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    await this.#store.close();
  }
}

/** Entries are cut from memory one after another, so that many of them are one range. */
function rangesOf(entries: readonly Bytes[]): EntryRange[] {
  const ranges: EntryRange[] = [];
  for (const entry of entries) {
    const { memory, start, end } = sharedRange(entry);
    const last = ranges.at(-1);
    if (last?.memory === memory && last.end === start) ranges[ranges.length - 1] = { ...last, end };
    else ranges.push({ memory, start, end });
  }
  return ranges;
}

function sharedRange(entry: Bytes): EntryRange {
  const { buffer, byteOffset, length } = asBuffer(entry);
  if (buffer instanceof SharedArrayBuffer) return { memory: buffer, start: byteOffset, end: byteOffset + length };
  const memory = new SharedArrayBuffer(length);
  new Uint8Array(memory).set(entry);
  return { memory, start: 0, end: length };
}
