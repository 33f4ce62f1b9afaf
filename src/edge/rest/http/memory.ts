import assert from "node:assert/strict";
import { limits } from "../../../engine/limits.ts";

/** Memory of one kind is kept for batches up to this size, and so many of them. */
const batchBytesMax = 64 * 1024;
const batchesKeptMax = 64;

/**
 * Memory for batches, used again once they are committed. Left to the garbage collector it makes it run several times a
 * second, each time over everything the process holds (10 ms and more).
 */
export class BatchBuffers {
  readonly #free: Buffer[] = [];

  take(bytes: number): Buffer {
    if (bytes > batchBytesMax) return Buffer.allocUnsafe(bytes);
    const memory = this.#free.pop() ?? Buffer.allocUnsafeSlow(batchBytesMax);
    return memory.subarray(0, bytes);
  }

  /** Takes back what `take` gave, once nobody looks at it any more. */
  give({ buffer, length }: Buffer): void {
    if (length > batchBytesMax || this.#free.length >= batchesKeptMax) return;
    this.#free.push(Buffer.from(buffer, 0, batchBytesMax));
  }
}

/** Kept at most; what is given back beyond it is left to the garbage collector. */
const pagesKeptMax = 8;

/**
 * Memory for pages, used again once a page has been sent: fresh memory of that size comes from the operating system
 * page by page, which takes as long as filling it.
 */
export class PageBuffers {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(limits.fetchBytesDefault + 1024);
  }

  give(buffer: Buffer): void {
    assert(!this.#free.includes(buffer), "a page's memory is given back once");
    if (this.#free.length < pagesKeptMax) this.#free.push(buffer);
  }
}

/** Less than this is not worth the call. */
const releasedBytesMin = 16 * 1024;

/**
 * Frees the memory of what was read from a socket and that nobody will look at again. Left to the garbage collector, the
 * memory of requests makes it run several times a second, each time over everything the process holds (10 ms and more).
 */
export function release(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // What was put together from several pieces may lie in the memory that small buffers share, which has this size.
  if (buffer.byteLength < releasedBytesMin || buffer.byteLength === Buffer.poolSize) return;
  try {
    if (buffer instanceof ArrayBuffer) buffer.transfer(0);
  } catch {
    // Memory that can't be let go of is the collector's business after all.
  }
}
