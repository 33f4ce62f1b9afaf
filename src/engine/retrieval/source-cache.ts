import { parseExact } from "../exact-json.ts";
import type { Json } from "./json-fields.ts";

/**
 * What is kept at most, by the length of its text; a longer source is not kept. And how many changed documents of a
 * collection are remembered, for queries that began before the changes.
 */
export const sourceCacheLimits = {
  charactersMax: 16 * 1024 * 1024,
  /** The same in each thread that searches. */
  threadCharactersMax: 8 * 1024 * 1024,
  sourceCharactersMax: 64 * 1024,
  changedMax: 10_000,
  /** Collections of which something is kept. */
  collectionsMax: 1_000,
} as const;

interface CachedCollection {
  /** Changes up to this count are not remembered one by one. */
  floor: number;
  /** By document: the count of the collection's changes after its last one. */
  readonly changed: Map<number, number>;
  readonly sources: Map<number, CachedSource>;
  /** Somebody asked since the changes were forgotten last. */
  isUsed: boolean;
}

/** A source, and the length of its text. */
export interface ParsedSource {
  readonly source: Json;
  readonly characters: number;
}

interface CachedSource extends ParsedSource {
  /** The count of the collection's changes from which on it is right. */
  readonly changes: number;
}

/**
 * Sources of documents that queries showed, parsed, until they change: ten of 250 characters take 0.2 µs against 26 µs
 * without, to which the reads of the store come. Nobody may write to them. No `LruMap`: a source is found by two numbers
 * without a key of both being made, and goes with its collection.
 */
export class SourceCache {
  readonly #collections = new Map<number, CachedCollection>();
  readonly #charactersMax: number;
  #characters = 0;

  constructor(charactersMax: number = sourceCacheLimits.charactersMax) {
    this.#charactersMax = charactersMax;
  }

  follows(collection: number): boolean {
    return this.#collections.has(collection);
  }

  /** From this count of a collection's changes on, each is told by `onChanges`. What was kept of it is forgotten. */
  follow(collection: number, changes: number): void {
    this.end(collection);
    const [oldest] = this.#collections.keys();
    if (this.#collections.size >= sourceCacheLimits.collectionsMax) this.end(oldest!);
    this.#collections.set(collection, { floor: changes, changed: new Map(), sources: new Map(), isUsed: true });
  }

  /** The count of all changes is `total` with these. False: nobody asks, and no more need be told. */
  onChanges(collection: number, ids: Iterable<number>, total: number): boolean {
    const cached = this.#collections.get(collection);
    if (cached === undefined) return false;
    for (const id of ids) {
      cached.changed.set(id, total);
      const source = cached.sources.get(id);
      if (source === undefined) continue;
      cached.sources.delete(id);
      this.#characters -= source.characters;
    }
    if (cached.changed.size <= sourceCacheLimits.changedMax) return true;
    if (!cached.isUsed) {
      this.end(collection);
      return false;
    }
    cached.isUsed = false;
    cached.changed.clear();
    cached.floor = total;
    return true;
  }

  /** The source of a document as it was after so many changes of its collection, which must have been told. */
  find(collection: number, changes: number, id: number): ParsedSource | undefined {
    const cached = this.#collections.get(collection);
    if (cached === undefined) return undefined;
    cached.isUsed = true;
    const found = cached.sources.get(id);
    return found !== undefined && found.changes <= changes ? found : undefined;
  }

  /** Parses a source that was read after so many changes, and keeps it where no later one can have changed it. */
  parsed(collection: number, changes: number, id: number, text: string): ParsedSource {
    const parsed: CachedSource = { source: parseExact(text) as Json, characters: text.length, changes };
    const { characters } = parsed;
    const cached = this.#collections.get(collection);
    if (cached === undefined || characters > sourceCacheLimits.sourceCharactersMax) return parsed;
    if (changes < cached.floor || (cached.changed.get(id) ?? 0) > changes) return parsed;
    if (this.#characters + characters > this.#charactersMax) {
      for (const each of this.#collections.values()) this.#forget(each);
    }
    this.#characters += characters - (cached.sources.get(id)?.characters ?? 0);
    cached.sources.set(id, parsed);
    return parsed;
  }

  /** Nothing more is told of a collection. */
  end(collection: number): void {
    const cached = this.#collections.get(collection);
    if (cached !== undefined) this.#forget(cached);
    this.#collections.delete(collection);
  }

  #forget({ sources }: CachedCollection): void {
    for (const { characters } of sources.values()) this.#characters -= characters;
    sources.clear();
  }
}
