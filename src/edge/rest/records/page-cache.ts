import { LruMap } from "../../../port/lru-map.ts";
import { SecondAsks } from "../second-asks.ts";

/** Records of one chunk; chunks start at its multiples, so that readers who started anywhere share them. */
export const chunkRecords = 256;
/** What a cache may hold, and the largest chunk it takes. */
const cacheBytesMax = 32 * 1024 * 1024;
export const chunkBytesMax = 256 * 1024;
/** What stands for a chunk that is too large, and what it counts. */
const tooLarge = Buffer.alloc(0);
const tooLargeBytes = 128;

/**
 * Records as the text of a page, for readers that follow the same partition: what one of them has been sent is sent to
 * the others without being read, verified and encoded again. A chunk is taken in when it is asked for a second time, so
 * that one reader of a long log does not push everything else out. Records never change, and ids of streams are never
 * used again, so nothing in here can be out of date. A page of 2,000 records of 100 bytes takes 15 µs against 207 µs
 * without where they were appended by the hundred, 4 µs against 4.7 ms where one by one.
 */
export class PageCache {
  readonly #chunks = new LruMap<string, Buffer>(cacheBytesMax, ({ length }) => length || tooLargeBytes);
  readonly #asked = new SecondAsks();

  get bytes(): number {
    return this.#chunks.weight;
  }

  has(key: string): boolean {
    return this.#chunks.has(key);
  }

  /** The chunk, made when it is asked for again; `make` gives none where it is too large. */
  get(key: string, make: () => Buffer | undefined): Buffer | undefined {
    let chunk = this.#chunks.get(key);
    if (chunk === undefined && this.noteAsk(key)) {
      chunk = make() ?? tooLarge;
      this.#chunks.set(key, chunk);
    }
    return chunk === tooLarge ? undefined : chunk;
  }

  /** Notes that a chunk was asked for; returns whether it was before. */
  noteAsk(key: string): boolean {
    return this.#asked.note(key);
  }
}
