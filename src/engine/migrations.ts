import type { Bytes, Reader, WriteOp } from "../port/store.ts";
import { entriesFromBytes, entryWords } from "./event/dedup/entry.ts";
import { runBytesMax, sealRun } from "./event/dedup/run.ts";
import { prefixRange, tables } from "./keys.ts";
import { JournaledBatches } from "./log/journaled-batches.ts";
import { openValue } from "./stored-value.ts";

/** Brings a store of version `to - 1` to version `to`. */
export interface Migration {
  readonly to: number;
  /** The form of the objects once it is done, where that changes too. */
  readonly objects?: number;
  /**
   * One bounded step from a place (undefined: the start) on: what to write, and the place to go on from, undefined at
   * the end. It is committed with that place, so each step is done exactly once, but its reads see what it has written.
   */
  step(reader: Reader, from: Bytes | undefined): { readonly ops: readonly WriteOp[]; readonly next: Bytes | undefined };
}

/**
 * Small batches may be in a journal and not at their keys yet. Nothing has to be moved, but a build that does not know the journal
 * would miss them, so it must not open the store.
 */
const journal: Migration = { to: 2, step: () => ({ ops: [], next: undefined }) };

/**
 * A record of a collection's log names the documents that changed and no longer holds them (`collection/write-record.ts`).
 * Records that hold them are read as before, but a build that looks for them in every record would misread the others.
 */
const namedDocuments: Migration = { to: 3, step: () => ({ ops: [], next: undefined }) };

/** Values of the journal may be in a file beside the store, where a build that does not know of it would not look. */
const journalFile: Migration = { to: 4, step: () => ({ ops: [], next: undefined }) };

/** Runs of remembered events that one step writes anew. */
const runsPerStep = 64;

/**
 * Batches of events may be compact (`log/compact-batch.ts`). Others are read as before, but a build that does not know
 * them would take these for damaged. Runs of remembered events were entries, each with its time and place; now these are
 * said once for events that came together (`event/dedup/run.ts`).
 */
const compactEvents: Migration = {
  to: 5,
  step(reader, from) {
    const { from: start, to } = prefixRange(tables.olderDedupRun);
    const ops: WriteOp[] = [];
    let next: Bytes | undefined;
    for (const { key, value } of reader.range({ from: from ?? start, to, limit: runsPerStep })) {
      const words = entriesFromBytes(openValue(value));
      const entries = Math.floor(words.length / entryWords);
      ops.push({ kind: "put", key, value: sealRun(words, 0, entries, Buffer.allocUnsafeSlow(runBytesMax(entries))) });
      next = Buffer.concat([key, Buffer.of(0)]);
    }
    return { ops, next };
  },
};

/**
 * A write in the file beside the store may take several slots. Those of one are as before, but a build that reads no others would take
 * these for damaged.
 */
const severalSlots: Migration = { to: 6, step: () => ({ ops: [], next: undefined }) };

/** Values of the journal that one step moves. */
const journalValuesPerStep = 64;

/**
 * Everything durable goes through one commit log (`adapter/logged`). What is left in the journal moves to its keys; the values of the file beside
 * the store have been put into the store before (`adapter/lmdb/slot-file.ts`).
 */
const commitLog: Migration = {
  to: 7,
  step(reader, from) {
    const { from: start, to } = prefixRange(tables.journal);
    const ops: WriteOp[] = [];
    let next: Bytes | undefined;
    const journaled = new JournaledBatches(reader);
    for (const { key, value } of reader.range({ from: from ?? start, to, limit: journalValuesPerStep })) {
      ops.push(...journaled.move(value), { kind: "delete", key });
      next = Buffer.concat([key, Buffer.of(0)]);
    }
    return { ops, next };
  },
};

/**
 * Events are remembered by a keyed digest, in tables of their own. What was remembered by SHA-256 stays as it is until it is forgotten
 * (`event/dedup/older-events.ts`), but a build that knows of nothing else would take every newer event for new.
 */
const keyedDigests: Migration = { to: 8, step: () => ({ ops: [], next: undefined }) };

/** In their order. A migration is never changed once a release has it. */
export const migrations: readonly Migration[] = [
  journal,
  namedDocuments,
  journalFile,
  compactEvents,
  severalSlots,
  commitLog,
  keyedDigests,
];
