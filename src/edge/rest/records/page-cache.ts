/** Records of one chunk; chunks start at its multiples, so that readers who started anywhere share them. */
export const chunkRecords = 256;
/** What a cache may hold, and the largest chunk it takes. */
const cacheBytesMax = 32 * 1024 * 1024;
const chunkBytesMax = 256 * 1024;
/** Chunks remembered for having been asked for. */
const askedMax = 16_384;

/**
 * Records as the text of a page, for readers that follow the same partition: what one of them has been sent is sent to
 * the others without being read, verified and encoded again. A chunk is taken in when it is asked for a second time, so
 * that one reader of a long log does not push everything else out. Records never change, and ids of streams are never
 * used again, so nothing in here can be out of date.
 */
export class PageCache {
  /** Oldest use first. */
  readonly #chunks = new Map<string, Buffer>();
  readonly #asked = new Set<string>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  has(key: string): boolean {
    return this.#chunks.has(key);
  }

  get(key: string): Buffer | undefined {
    const chunk = this.#chunks.get(key);
    if (chunk === undefined) return undefined;
    this.#chunks.delete(key);
    this.#chunks.set(key, chunk);
    return chunk;
  }

  /** Notes that a chunk was asked for; returns whether it was before. */
  isAskedAgain(key: string): boolean {
    if (this.#asked.has(key)) return true;
    if (this.#asked.size >= askedMax) this.#asked.clear();
    this.#asked.add(key);
    return false;
  }

  add(key: string, chunk: Buffer): void {
    if (chunk.length > chunkBytesMax) return;
    this.#chunks.set(key, chunk);
    this.#bytes += chunk.length;
    for (const [oldest, { length }] of this.#chunks) {
      if (this.#bytes <= cacheBytesMax) return;
      this.#chunks.delete(oldest);
      this.#bytes -= length;
    }
  }
}
