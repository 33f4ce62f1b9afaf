import type { Reader } from "../../port/store.ts";
import type { Draft } from "../commit/draft.ts";
import type { BatchCursor } from "../log/record-batch.ts";

/**
 * What a kind of target does with a link's records. A worker hands over records one by one: `take` collects what they
 * change, and `stage` writes it in the commit that also moves the applied offsets. A further kind is one more
 * implementation.
 */
export interface LinkTarget {
  readonly kind: string;
  /** Throws invalid_argument for options that this kind does not know. */
  checkOptions(options: unknown): void;
  /**
   * Resolves when the target can take records, or the signal is aborted; rejects with why it can't. True when what the
   * link had applied is gone, so that it starts over.
   */
  ready(link: LinkContext, signal: AbortSignal): Promise<boolean>;
  /** Whether the target still holds what the link has applied: not once it was created again. */
  holds(link: LinkContext, view: Reader): boolean;
  /** Starts collecting for one link. */
  begin(link: LinkContext): LinkStep;
  /** Frees what the target keeps for a link that was deleted, in steps; returns whether more is left. */
  stageForget(draft: Draft, linkId: number, keysMax: number): boolean;
  /** The target's own fields of a link's detail, as JSON text, read from a view that does not change meanwhile. */
  detail(link: LinkContext, state: LinkTotals, view: Reader): Promise<readonly string[]>;
}

export interface LinkContext {
  readonly id: number;
  readonly namespace: string;
  readonly name: string;
  readonly source: string;
  readonly target: { readonly kind: string; readonly name: string };
  readonly options: unknown;
}

export interface LinkStep {
  /** Takes the record that the cursor stands on; false when what was collected should be committed before more. */
  take(cursor: BatchCursor, partition: number): boolean;
  /** Entries that the commit will write. */
  readonly size: number;
  /** Writes what was collected; returns how many records were skipped. */
  stage(draft: Draft): number;
}

/** What a link has done so far. */
export interface LinkTotals {
  readonly version: number;
  readonly skipped: number;
  /** Records that retention trimmed before the link had read them. */
  readonly lost: number;
}
