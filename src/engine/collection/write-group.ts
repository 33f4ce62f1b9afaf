import assert from "node:assert/strict";
import type { Draft } from "../commit/draft.ts";
import type { Log } from "../log/log.ts";
import { encodeBatch } from "../log/record-batch.ts";
import { type CollectionTotals, collectionTotalsKey, totalsBytes, writeCollectionTotals } from "./collection-store.ts";
import type { CollectionRuntime } from "./runtime.ts";
import { changesBytes, type DocumentChange, encodeChanges, encodeNames } from "./write-record.ts";

/** Changes that are sent to the index together at most, so that each message is short work for it. */
const groupBytesMax = 64 * 1024;

interface Write {
  readonly changes: readonly DocumentChange[];
  readonly documentsAdded: number;
  readonly nowMs: number;
}

/**
 * The writes to a collection that one commit holds. They are one batch of its log, a record each, its totals are stored once,
 * and its index and those who follow it are told once: each value in the store and each message to a thread costs as much as
 * a small write.
 */
export class WriteGroup {
  /** As the writes up to here leave them. */
  totals: CollectionTotals;
  /** The offset that the next write gets in the collection's log. */
  next: number;
  readonly #runtime: CollectionRuntime;
  readonly #totalsStored = Buffer.allocUnsafe(totalsBytes);
  readonly #records: { readonly value: Buffer }[] = [];
  readonly #writes: (readonly DocumentChange[])[] = [];
  #bytes = 0;
  #nowMs = 0;

  constructor(runtime: CollectionRuntime, totals: CollectionTotals, next: number) {
    this.#runtime = runtime;
    this.totals = totals;
    this.next = next;
  }

  hasRoom(changes: readonly DocumentChange[]): boolean {
    return this.#bytes + changesBytes(changes) <= groupBytesMax;
  }

  add(draft: Draft, { changes, documentsAdded, nowMs }: Write): void {
    const { totals } = this;
    const bytes = changesBytes(changes);
    draft.onUndo(() => {
      this.#records.pop();
      this.#writes.pop();
      this.#bytes -= bytes;
      this.next--;
      this.#setTotals(totals);
    });
    if (this.#writes.length === 0) {
      draft.put(collectionTotalsKey(this.#runtime.meta.id), this.#totalsStored);
      draft.onCommit(() => this.#tell());
    }
    this.#records.push({ value: encodeNames(changes) });
    this.#writes.push(changes);
    this.#bytes += bytes;
    this.#nowMs = nowMs;
    this.next++;
    this.#setTotals({
      changes: totals.changes + changes.length,
      bytes: totals.bytes + bytes,
      documents: totals.documents + documentsAdded,
    });
  }

  /** Writes the batch of the log, once every write is decided. */
  stageLog(draft: Draft, log: Log): void {
    if (this.#records.length === 0) return;
    const { lastOffset } = log.stageAppend(draft, this.#runtime.stream, 0, encodeBatch(this.#records, this.#nowMs));
    assert(lastOffset + 1 === this.next, "writes have the offsets that they were told");
  }

  #setTotals(totals: CollectionTotals): void {
    this.totals = totals;
    writeCollectionTotals(this.#totalsStored, totals);
  }

  #tell(): void {
    this.#runtime.onCommitted(this.next, encodeChanges(this.#writes.flat()), this.totals, this.#nowMs);
  }
}
