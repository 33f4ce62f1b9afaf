import type { SharedSegments } from "../../../port/shared-bytes.ts";
import type { AskedQuery } from "../../retrieval/format.ts";
import type { SearchPlan } from "../../retrieval/plan.ts";
import type { Filter } from "../../search/filter/filter.ts";
import type { Manifest } from "../collection-store.ts";

/** What is looked for as the index is when the message comes; other messages are handled while it runs. */
export type IndexQuery =
  /** Answers with a `PackedOutcome`. */
  | { readonly kind: "search"; readonly plan: SearchPlan }
  /** Answers with an `AnsweredQuery`, or undefined where another thread has to answer. */
  | { readonly kind: "answer"; readonly asked: AskedQuery }
  | { readonly kind: "count"; readonly filter: Filter; readonly eventual: boolean }
  | {
      readonly kind: "match";
      readonly filter: Filter;
      readonly afterId: number;
      /** How many to answer with; the first by id. */
      readonly limit: number;
      readonly eventual: boolean;
    };

/** What the index of one collection is asked. */
export type IndexQuestion =
  /** Everything up to here becomes a segment; later changes go to a new tail. Answers with a `FrozenTail`. */
  | { readonly kind: "freeze"; readonly upTo: number }
  /** `query` names it for `cancel`. */
  | (IndexQuery & { readonly query: number })
  | {
      readonly kind: "recall";
      readonly field: string;
      readonly num: number;
      readonly k: number;
      readonly filter: Filter | undefined;
      readonly eventual: boolean;
    };

type IndexOrder =
  /**
   * Answers with `SharedSegments`: what is loaded of the manifest's segments. `loaded` is what another thread has.
   * `keeps`: the changes that come are kept for the segment that is made of them.
   */
  | {
      readonly kind: "open";
      readonly schema: unknown;
      readonly manifest: Manifest;
      readonly loaded: SharedSegments;
      readonly keeps: boolean;
    }
  | { readonly kind: "close" }
  | { readonly kind: "cancel"; readonly query: number }
  /**
   * Changes of log records that were committed together, the offset after them, and the collection's changes up to then,
   * counted. Of what is replayed the count is not known.
   */
  | {
      readonly kind: "apply";
      readonly next: number;
      readonly changes: Uint8Array<ArrayBuffer>;
      readonly total: number | undefined;
    }
  /** Answers once every message before it was handled. */
  | { readonly kind: "sync" }
  | { readonly kind: "schema"; readonly schema: unknown }
  /** Answers like `open`. */
  | { readonly kind: "publish"; readonly manifest: Manifest; readonly loaded: SharedSegments };

/**
 * What the listener's thread tells an index thread. Messages about one collection are handled in the order in which
 * they were sent, so a question sees every change that was sent before it.
 */
export type IndexMessage = (IndexQuestion | IndexOrder) & { readonly collection: number };

/** What a segment is to be made of. */
export interface FrozenTail {
  readonly deletes: FrozenDeletes;
  /**
   * Every change since the manifest, as it came, in order. Undefined when some were given away before, for a segment that
   * did not come to be.
   */
  readonly changes: readonly Uint8Array<ArrayBuffer>[] | undefined;
}

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
