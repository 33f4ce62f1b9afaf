import { LruMap } from "../../../port/lru-map.ts";
import { SecondAsks } from "../second-asks.ts";

/** Records of one chunk; chunks start at its multiples, so that readers who started anywhere share them. */
export const chunkRecords = 256;
/** What a cache may hold, and the largest chunk it takes. */
const cacheBytesMax = 32 * 1024 * 1024;
const chunkBytesMax = 256 * 1024;

/**
 * Records as the text of a page, for readers that follow the same partition: what one of them has been sent is sent to
 * the others without being read, verified and encoded again. A chunk is taken in when it is asked for a second time, so
 * that one reader of a long log does not push everything else out. Records never change, and ids of streams are never
 * used again, so nothing in here can be out of date.
 */
export class PageCache {
  readonly #chunks = new LruMap<string, Buffer>(cacheBytesMax, (chunk) => chunk.length);
  readonly #asked = new SecondAsks();

  get bytes(): number {
    return this.#chunks.weight;
  }

  has(key: string): boolean {
    return this.#chunks.has(key);
  }

  get(key: string): Buffer | undefined {
    return this.#chunks.get(key);
  }

  /** Notes that a chunk was asked for; returns whether it was before. */
  isAskedAgain(key: string): boolean {
    return this.#asked.note(key);
  }

  add(key: string, chunk: Buffer): void {
    if (chunk.length <= chunkBytesMax) this.#chunks.set(key, chunk);
  }
}
