/** Memory of one kind is kept for batches up to this size, and so many of them. */
const batchBytesMax = 64 * 1024;
const keptMax = 64;

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
    if (length > batchBytesMax || this.#free.length >= keptMax) return;
    this.#free.push(Buffer.from(buffer, 0, batchBytesMax));
  }
}
