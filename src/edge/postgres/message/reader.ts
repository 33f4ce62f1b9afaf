import { PostgresError } from "../error.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Takes a message's body apart. What is cut short or left over is a violation of the protocol. */
export class MessageReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    this.#need(1);
    return this.#bytes[this.#at++]!;
  }

  int16(): number {
    this.#need(2);
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  uint16(): number {
    return this.int16() & 0xffff;
  }

  int32(): number {
    this.#need(4);
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  uint32(): number {
    return this.int32() >>> 0;
  }

  int64(): bigint {
    this.#need(8);
    this.#at += 8;
    return this.#bytes.readBigInt64BE(this.#at - 8);
  }

  float32(): number {
    this.#need(4);
    this.#at += 4;
    return this.#bytes.readFloatBE(this.#at - 4);
  }

  float64(): number {
    this.#need(8);
    this.#at += 8;
    return this.#bytes.readDoubleBE(this.#at - 8);
  }

  take(length: number): Buffer {
    if (length < 0) throw violation("a length is negative");
    this.#need(length);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  cstring(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end === -1) throw violation("a text has no end");
    const text = this.take(end - this.#at);
    this.#at++;
    return decodeText(text);
  }

  /** Called at the end of each message. */
  done(): void {
    if (this.left > 0) throw violation(`${this.left} bytes are left over in a message`);
  }

  #need(bytes: number): void {
    if (this.left < bytes) throw violation("a message is cut short");
  }
}

export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new PostgresError("22021", "a text is not UTF-8");
  }
}

export function violation(message: string): PostgresError {
  return new PostgresError("08P01", `protocol violation: ${message}`);
}
