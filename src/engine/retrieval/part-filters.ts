import { evaluateFilterSteps } from "../search/filter/evaluate.ts";
import type { Filter } from "../search/filter/filter.ts";
import { Bitset } from "../search/index/bitset.ts";
import type { IndexReader } from "../search/index/reader.ts";
import type { Steps } from "../turns.ts";

/** The filters of one query over its parts, each evaluated once, however many retrievers share it. */
export class PartFilters {
  readonly #readers: readonly IndexReader[];
  readonly #common: Filter | undefined;
  readonly #known = new Map<Filter | undefined, readonly Bitset[]>();

  constructor(readers: readonly IndexReader[], common: Filter | undefined) {
    this.#readers = readers;
    this.#common = common;
  }

  /** The live documents per part that the query's filter and the given one allow, or undefined for all. */
  *allowed(own: Filter | undefined): Steps<readonly Bitset[] | undefined> {
    if (own === undefined && this.#common === undefined) return undefined;
    if (own === undefined || own === this.#common) return yield* this.#evaluated(undefined);
    return yield* this.#evaluated(own);
  }

  /** The live documents per part that the query's filter matches. */
  *matches(): Steps<readonly Bitset[]> {
    const allowed = yield* this.allowed(undefined);
    return allowed ?? this.#readers.map((reader) => reader.live ?? Bitset.full(reader.docCount));
  }

  *#evaluated(own: Filter | undefined): Steps<readonly Bitset[]> {
    const known = this.#known.get(own);
    if (known !== undefined) return known;
    const filter = own ?? this.#common!;
    const common = own === undefined || this.#common === undefined ? undefined : yield* this.#evaluated(undefined);
    const found: Bitset[] = [];
    for (const [r, reader] of this.#readers.entries()) {
      const set = yield* evaluateFilterSteps(filter, reader);
      found.push(common === undefined ? set : set.and(common[r]!));
      yield;
    }
    this.#known.set(own, found);
    return found;
  }
}
