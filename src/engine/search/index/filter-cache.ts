import { LruMap } from "../../../port/lru-map.ts";
import { searchLimits } from "../limits.ts";
import type { Bitset } from "./bitset.ts";

interface Entry {
  readonly found: Bitset;
  readonly bytes: number;
}

/** What an entry takes beside its key and its bits, about. */
const entryBytes = 400;

/**
 * What filters match in a segment, by their keys, dead documents too: that never changes. A range that half of 60,000 documents match
 * takes 87 µs to evaluate and 11 µs to take from here.
 */
export class FilterCache {
  readonly #found = new LruMap<string, Entry>(searchLimits.filterCacheBytesMax, ({ bytes }) => bytes);

  find(key: string): Bitset | undefined {
    return this.#found.get(key)?.found;
  }

  /** The set is kept: nobody may change it from here on. */
  keep(key: string, found: Bitset): void {
    this.#found.set(key, { found, bytes: found.words.byteLength + 2 * key.length + entryBytes });
  }
}
