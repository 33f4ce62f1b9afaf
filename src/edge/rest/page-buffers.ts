import { limits } from "../../engine/limits.ts";

/** Kept at most; what is given back beyond it is left to the garbage collector. */
const keptMax = 8;

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
    if (this.#free.length < keptMax) this.#free.push(buffer);
  }
}
