import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { asBuffer } from "../../port/bytes.ts";
import { type Bytes, StoreError, type WriteOp } from "../../port/store.ts";
import type { ApplyReply, ApplyRequest, EntryRange } from "./apply-thread.ts";
import type { LmdbStore } from "./store.ts";

/** What is young in the thread is gone with its step. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

/**
 * Applies entries of a commit log to LMDB in a thread of its own: a large step in the order of its keys writes each page of the tree once,
 * and would hold the listener's thread for as long as it takes to hand over its puts.
 */
export class LmdbApplier {
  readonly #store: LmdbStore;
  readonly #folder: string;
  #worker: Worker | undefined;
  #isApplying = false;

  /** The store is open on this thread too, which reads it. */
  constructor(store: LmdbStore, folder: string) {
    this.#store = store;
    this.#folder = folder;
  }

  /** One step at a time. */
  async apply(entries: readonly Bytes[], mark: WriteOp): Promise<void> {
    assert(!this.#isApplying, "one step is applied at a time");
    this.#isApplying = true;
    const reply = await this.#ask({ ranges: rangesOf(entries), mark }).finally(() => {
      this.#isApplying = false;
    });
    if (reply !== undefined) {
      this.#store.checkAlive();
      throw new StoreError(reply.kind, reply.message);
    }
    this.#store.refresh();
  }

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
      const entry = new URL("./apply-thread.ts", import.meta.url);
      this.#worker = new Worker(entry, { workerData: this.#folder, resourceLimits });
      this.#worker.unref();
    }
    return this.#worker;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
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
