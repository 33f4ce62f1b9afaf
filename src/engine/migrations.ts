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

/** In their order. A migration is never changed once a release has it. */
export const migrations: readonly Migration[] = [];
