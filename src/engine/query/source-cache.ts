import type { Json } from "./json-fields.ts";

/** What is kept at most, by the length of its text; a longer source is not kept. */
export const sourceCacheLimits = { charactersMax: 16 * 1024 * 1024, sourceCharactersMax: 64 * 1024 } as const;

interface Kept {
  /** The collection's changes up to which the sources are right. */
  readonly changes: number;
  readonly sources: Map<number, Json>;
}

/**
 * Sources of documents that queries showed, parsed, for as long as their collection does not change: reading, verifying
 * and parsing ten documents takes the listener's thread as long as the rest of a query. Nobody may write to them.
 */
export class SourceCache {
  readonly #collections = new Map<number, Kept>();
  #characters = 0;

  find(collection: number, changes: number, id: number): Json | undefined {
    const kept = this.#collections.get(collection);
    return kept?.changes === changes ? kept.sources.get(id) : undefined;
  }

  /** The source of a document as it was after so many changes of its collection. */
  parsed(collection: number, changes: number, id: number, source: string): Json {
    const made = JSON.parse(source) as Json;
    if (source.length > sourceCacheLimits.sourceCharactersMax) return made;
    let kept = this.#collections.get(collection);
    // A query that began before the newest change has nothing to tell to those after it.
    if (kept !== undefined && kept.changes > changes) return made;
    if (this.#characters + source.length > sourceCacheLimits.charactersMax) {
      this.#collections.clear();
      this.#characters = 0;
      kept = undefined;
    }
    if (kept === undefined || kept.changes < changes) {
      kept = { changes, sources: new Map() };
      this.#collections.set(collection, kept);
    }
    kept.sources.set(id, made);
    this.#characters += source.length;
    return made;
  }
}
