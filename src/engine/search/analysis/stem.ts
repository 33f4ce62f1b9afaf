import snowball from "snowball-stemmers";
import { searchLimits } from "../limits.ts";

/**
 * A Snowball stemmer with the stems it gave lately: the stemmer alone does about 75,000 English words a second, and a
 * text repeats its words. Two generations bound the cache without bookkeeping per use.
 */
export class CachedStemmer {
  readonly #stemmer: { stem(word: string): string };
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  constructor(language: string) {
    this.#stemmer = snowball.newStemmer(language);
  }

  stem(word: string): string {
    const known = this.#young.get(word);
    if (known !== undefined) return known;
    const stem = this.#old.get(word) ?? this.#stemmer.stem(word);
    if (this.#young.size >= searchLimits.stemCacheEntriesMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(word, stem);
    return stem;
  }
}

/** `porter` is the older English stemmer, kept out because `english` is its successor. */
export const stemmerLanguages: readonly string[] = snowball.algorithms().filter((name) => name !== "porter");
