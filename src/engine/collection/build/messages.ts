import type { SegmentEntry } from "../collection-store.ts";
import type { FrozenDeletes } from "../index/messages.ts";

/** What the listener's thread tells the build thread. One job runs at a time. */
export type BuildMessage =
  | {
      readonly kind: "begin";
      readonly job: number;
      readonly schema: unknown;
      readonly schemaVersion: number;
      readonly folder: string;
    }
  /** The changes of one log record, in log order. */
  | { readonly kind: "changes"; readonly job: number; readonly changes: Uint8Array }
  /**
   * Ends a job that collected changes: writes the segment, the deletes and the columnar commit. `keeps`: no version of
   * the dataset is freed, since somebody copies one.
   */
  | {
      readonly kind: "seal";
      readonly job: number;
      readonly id: string;
      readonly deletes: FrozenDeletes;
      readonly keeps: boolean;
    }
  | { readonly kind: "merge"; readonly job: number; readonly id: string; readonly segments: readonly SegmentEntry[] }
  | { readonly kind: "cancel"; readonly job: number };

export interface BuildReply {
  /** The new segment; null when nothing is left alive in it. */
  readonly segment: SegmentEntry | null;
  /** Where the deletes of earlier segments were written. */
  readonly deletes: readonly { readonly segment: string; readonly path: string; readonly count: number }[];
  readonly lance: { readonly path: string; readonly version: number } | null;
}
