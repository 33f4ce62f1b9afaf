import assert from "node:assert/strict";
import { parentPort, workerData } from "node:worker_threads";
import { foldEntries } from "../../port/commit-entry.ts";
import { collectorOf } from "../../port/major-gc.ts";
import { StoreError, type WriteOp } from "../../port/store.ts";
import { LmdbStore } from "./store.ts";

/** Entries of the commit log that lie side by side in shared memory. */
export interface EntryRange {
  readonly memory: SharedArrayBuffer;
  readonly start: number;
  readonly end: number;
}

export interface ApplyRequest {
  readonly ranges: readonly EntryRange[];
  readonly mark: WriteOp;
}

/** What went wrong; undefined when the step is durable. */
export type ApplyReply = { readonly kind: StoreError["kind"]; readonly message: string } | undefined;

const store = new LmdbStore(workerData as string);
const port = parentPort!;

/**
 * Large entries have memory of their own, which lives until this thread's heap is collected too. It hardly grows by them, so
 * that the runtime would never do it.
 */
const ownBytesMax = 32 * 1024 * 1024;
let ownBytes = 0;
let collect: ReturnType<typeof collectorOf> | undefined;

function collectIfDue(ranges: readonly EntryRange[]): void {
  for (const { memory, start, end } of ranges) if (end - start === memory.byteLength) ownBytes += memory.byteLength;
  if (ownBytes < ownBytesMax) return;
  ownBytes = 0;
  collect ??= collectorOf();
  // Once the message itself is gone.
  setImmediate(collect, false);
}

port.on("message", async ({ ranges, mark }: ApplyRequest) => {
  let reply: ApplyReply;
  try {
    const entries = ranges.map(({ memory, start, end }) => {
      assert(start < end && end <= memory.byteLength, "a range lies in its memory");
      return Buffer.from(memory, start, end - start);
    });
    await store.commit([...foldEntries(entries), mark]);
  } catch (error) {
    const { message } = error as Error;
    reply = { kind: error instanceof StoreError ? error.kind : "failed", message };
  }
  port.postMessage(reply);
  collectIfDue(ranges);
});
