import type { Bytes, Reader, WriteOp } from "../port/store.ts";

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
 * Small batches may be in the journal (`log/journal.ts`) and not at their keys yet. Nothing has to be moved, but a build
 * that does not know the journal would miss them, so it must not open the store.
 */
const journal: Migration = { to: 2, step: () => ({ ops: [], next: undefined }) };

/**
 * A record of a collection's log names the documents that changed and no longer holds them (`collection/write-record.ts`).
 * Records that hold them are read as before, but a build that looks for them in every record would misread the others.
 */
const namedDocuments: Migration = { to: 3, step: () => ({ ops: [], next: undefined }) };

/**
 * Values of the journal may be in a file beside the store (`adapter/journaled`), where a build that does not know of it would
 * not look.
 */
const journalFile: Migration = { to: 4, step: () => ({ ops: [], next: undefined }) };

/** In their order. A migration is never changed once a release has it. */
export const migrations: readonly Migration[] = [journal, namedDocuments, journalFile];
