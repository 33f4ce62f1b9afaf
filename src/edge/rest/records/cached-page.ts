import type { FetchResult } from "../../../engine/stream/streams.ts";
import { recordCodec } from "./codec.ts";
import { closeBytesMax, pageEnd, pageStart, wholePage } from "./page.ts";
import { chunkBytesMax, chunkRecords, type PageCache } from "./page-cache.ts";

/**
 * A page of at most `bytesMax` bytes as parts that are sent one after another: chunks of the cache, and what is between
 * them, written into `buffer`.
 */
export function cachedPage(result: FetchResult, bytesMax: number, buffer: Buffer, cache: PageCache): Buffer[] {
  const page = new CachedPage(result, bytesMax - closeBytesMax, buffer, cache);
  page.fill();
  // Not even the first record fits, or it is too large for the codec.
  if (page.isEmpty && result.highWatermark > result.offset) return [wholePage(result, bytesMax, buffer)];
  return page.finish();
}

class CachedPage {
  readonly #result: FetchResult;
  readonly #budget: number;
  readonly #buffer: Buffer;
  readonly #cache: PageCache;
  readonly #parts: Buffer[] = [];
  #next: number;
  /** Bytes of the page so far. */
  #bytes = pageStart.length;
  /** What of `buffer` is written, and from where on it is no part yet. */
  #at: number;
  #from = 0;

  constructor(result: FetchResult, budget: number, buffer: Buffer, cache: PageCache) {
    this.#result = result;
    this.#budget = budget;
    this.#buffer = buffer;
    this.#cache = cache;
    this.#next = result.offset;
    this.#at = buffer.write(pageStart, "latin1");
  }

  get isEmpty(): boolean {
    return this.#next === this.#result.offset;
  }

  fill(): void {
    const { highWatermark } = this.#result;
    while (this.#next < highWatermark) {
      const start = this.#next;
      const chunk = this.#chunk(start);
      if (chunk !== undefined && this.#bytes + chunk.length <= this.#budget) {
        this.#cut();
        this.#parts.push(chunk);
        this.#bytes += chunk.length;
        this.#next = start + chunkRecords;
        continue;
      }
      // Up to the next chunk, which the cache may have; without a hope for that, to the end.
      const aligned = start - (start % chunkRecords) + chunkRecords;
      const isHopeful = chunk !== undefined || (start % chunkRecords !== 0 && this.#cache.has(this.#key(aligned)));
      const until = isHopeful ? Math.min(aligned, highWatermark) : highWatermark;
      if (!this.#write(until)) return;
      this.#note(start);
    }
  }

  finish(): Buffer[] {
    this.#at += this.#buffer.write(pageEnd(this.#result, this.#next), this.#at, "latin1");
    this.#cut();
    return this.#parts;
  }

  /** The cached text of the chunk that starts at an offset. */
  #chunk(start: number): Buffer | undefined {
    const { offset, highWatermark } = this.#result;
    if (start % chunkRecords !== 0 || start + chunkRecords > highWatermark) return undefined;
    const chunk = this.#cache.get(this.#key(start), () => this.#make(start));
    // Each record comes after a comma, but for the page's first.
    return start === offset ? chunk?.subarray(1) : chunk;
  }

  #make(start: number): Buffer | undefined {
    const texts: Buffer[] = [];
    const sink = (text: Buffer) => texts.push(Buffer.from(text));
    return encodeRun(this.#result, start, start + chunkRecords, chunkBytesMax, false, sink) === start + chunkRecords
      ? Buffer.concat(texts)
      : undefined;
  }

  /** Writes records up to an offset; returns whether it got there. */
  #write(until: number): boolean {
    const left = this.#budget - this.#bytes;
    const next = encodeRun(this.#result, this.#next, until, left, this.isEmpty, (text) => {
      this.#at += text.copy(this.#buffer, this.#at);
      this.#bytes += text.length;
    });
    this.#next = next;
    return next === until;
  }

  /** The chunks of what was written were asked for. */
  #note(from: number): void {
    const first = Math.ceil(from / chunkRecords) * chunkRecords;
    for (let start = first; start + chunkRecords <= this.#next; start += chunkRecords) {
      this.#cache.noteAsk(this.#key(start));
    }
  }

  #cut(): void {
    if (this.#at > this.#from) this.#parts.push(this.#buffer.subarray(this.#from, this.#at));
    this.#from = this.#at;
  }

  #key(start: number): string {
    return `${this.#result.stream}/${this.#result.partition}/${start}`;
  }
}

/**
 * Writes records from an offset up to another one, as many as fit; returns the offset after the last of them. What can't
 * be read ends the run, unless it is the first.
 */
function encodeRun(
  result: FetchResult,
  from: number,
  until: number,
  bytesMax: number,
  first: boolean,
  sink: (text: Buffer) => void,
): number {
  let next = from;
  let left = bytesMax;
  try {
    for (const batch of result.readBorrowed(from)) {
      if (!batch.seek(next)) return next;
      do {
        const text = recordCodec().encode(batch, left, first && next === from, until - next);
        if (text === undefined) return next;
        sink(text);
        left -= text.length;
        next = batch.offset + 1;
        if (next >= until) return next;
      } while (batch.next());
    }
  } catch (error) {
    if (next === result.offset) throw error;
  }
  return next;
}
