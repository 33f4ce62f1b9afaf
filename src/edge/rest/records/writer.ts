/** What is written one after another into one buffer. */
export class RecordWriter {
  #bytes: Buffer;
  #length = 0;

  /** Writes into the given memory, and into memory of its own when that is full. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Text that is written already. */
  append(text: Buffer): void {
    this.#reserve(text.length);
    text.copy(this.#bytes, this.#length);
    this.#length += text.length;
  }

  text(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#reserve(bytes);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Takes back everything from a length on. */
  truncate(length: number): void {
    this.#length = length;
  }

  /** What was written. The writer starts anew with a buffer of its own. */
  take(nextCapacity = 0): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.allocUnsafe(nextCapacity);
    this.#length = 0;
    return bytes;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
