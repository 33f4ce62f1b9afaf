import assert from "node:assert/strict";

/**
 * Puts messages together. A message of the server is
 *
 *     type: byte, length: int32 (itself and what follows, without the type), body
 *
 * with integers in network order and text as UTF-8 up to a zero byte.
 */
export class MessageWriter {
  #bytes: Buffer;
  #at = 0;
  #begun = 0;
  readonly #sizeBytes: number;

  constructor(sizeBytes = 8 * 1024) {
    this.#sizeBytes = sizeBytes;
    this.#bytes = Buffer.allocUnsafe(sizeBytes);
  }

  /** Bytes that wait to be taken. */
  get size(): number {
    return this.#at;
  }

  begin(type: string): this {
    this.#reserve(5);
    this.#bytes[this.#at] = type.charCodeAt(0);
    this.#begun = this.#at + 1;
    this.#at += 5;
    return this;
  }

  end(): void {
    this.#bytes.writeInt32BE(this.#at - this.#begun, this.#begun);
  }

  byte(value: number): this {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
    return this;
  }

  int16(value: number): this {
    this.#reserve(2);
    this.#at = this.#bytes.writeInt16BE(value, this.#at);
    return this;
  }

  int32(value: number): this {
    this.#reserve(4);
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
    return this;
  }

  uint32(value: number): this {
    this.#reserve(4);
    this.#at = this.#bytes.writeUInt32BE(value, this.#at);
    return this;
  }

  int64(value: bigint): this {
    this.#reserve(8);
    this.#at = this.#bytes.writeBigInt64BE(value, this.#at);
    return this;
  }

  float32(value: number): this {
    this.#reserve(4);
    this.#at = this.#bytes.writeFloatBE(value, this.#at);
    return this;
  }

  float64(value: number): this {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleBE(value, this.#at);
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  /** Text that is ASCII. */
  ascii(text: string): this {
    this.#reserve(text.length);
    this.#at += this.#bytes.latin1Write(text, this.#at);
    return this;
  }

  text(text: string): this {
    this.#reserve(text.length * 3);
    this.#at += this.#bytes.write(text, this.#at, "utf8");
    return this;
  }

  /** A zero byte would end the text early, so it is left out. */
  cstring(text: string): this {
    return this.text(text.includes("\0") ? text.replaceAll("\0", "") : text).byte(0);
  }

  /** Keeps the place of an int32 that is known later. */
  hold(): number {
    this.#reserve(4);
    const place = this.#at;
    this.#at += 4;
    return place;
  }

  /** Fills the held place with the number of bytes that came after it. */
  fillLength(place: number): void {
    this.#bytes.writeInt32BE(this.#at - place - 4, place);
  }

  fill(place: number, value: number): void {
    this.#bytes.writeInt32BE(value, place);
  }

  /** Forgets what came after `size`, for a message that can't be finished. */
  cutTo(size: number): void {
    assert(size <= this.#at, "what is cut was written");
    this.#at = size;
  }

  /** A copy of what was put together after the first `size` bytes. */
  copyFrom(size: number): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, size, this.#at);
  }

  /** What was put together, for the caller to keep. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#at);
    const capacity = this.#bytes.length;
    this.#at = 0;
    const isShort = bytes.length <= this.#sizeBytes / 4;
    // A short answer is copied, so that the buffer serves the next one; a long one takes it along, and the next chunk
    // of a long answer will be as long. A session that waits holds no more than it needs.
    if (!isShort) this.#bytes = Buffer.allocUnsafe(capacity);
    else if (capacity > this.#sizeBytes) this.#bytes = Buffer.allocUnsafe(this.#sizeBytes);
    return isShort ? Buffer.from(bytes) : bytes;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
