import type { Filter } from "../../search/filter/filter.ts";
import type { Manifest } from "../collection-store.ts";

/**
 * What the listener's thread tells the index thread. Messages about one collection are handled in the order in which
 * they were sent, so a question sees every change that was sent before it.
 */
export type IndexMessage =
  | { readonly kind: "open"; readonly collection: number; readonly schema: unknown; readonly manifest: Manifest }
  | { readonly kind: "close"; readonly collection: number }
  /** Changes of one log record, and the offset after it. */
  | { readonly kind: "apply"; readonly collection: number; readonly next: number; readonly changes: Uint8Array }
  | { readonly kind: "schema"; readonly collection: number; readonly schema: unknown }
  /** Everything up to here becomes a segment; later changes go to a new tail. Answers with `FrozenDeletes`. */
  | { readonly kind: "freeze"; readonly collection: number; readonly upTo: number }
  | { readonly kind: "publish"; readonly collection: number; readonly manifest: Manifest }
  | { readonly kind: "count"; readonly collection: number; readonly filter: Filter; readonly eventual: boolean }
  | {
      readonly kind: "match";
      readonly collection: number;
      readonly filter: Filter;
      readonly afterId: number;
      readonly limit: number;
      readonly eventual: boolean;
    };

/** Deleted documents of the segments as of the freeze: the words of a bitmap by segment. */
export type FrozenDeletes = readonly {
  readonly segment: string;
  readonly words: Uint32Array;
  readonly count: number;
}[];

/** Matching documents by ascending id, with the version that matched. */
export interface MatchReply {
  readonly ids: Float64Array;
  readonly versions: Float64Array;
  /** Matches in all, from `afterId` on. */
  readonly total: number;
}
