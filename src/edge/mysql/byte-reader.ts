import { mysqlError } from "./error.ts";

/**
 * Reads a packet's payload. Numbers are little-endian.
 *
 *   lenenc-int     below 0xFB the byte itself; 0xFC + u16; 0xFD + u24; 0xFE + u64
 *   lenenc-string  lenenc-int length, then so many bytes
 *   nul-string     bytes up to a zero byte
 */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  u8(): number {
    return this.#bytes[this.#take(1)]!;
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#take(2));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  i8(): number {
    return this.#bytes.readInt8(this.#take(1));
  }

  i16(): number {
    return this.#bytes.readInt16LE(this.#take(2));
  }

  i32(): number {
    return this.#bytes.readInt32LE(this.#take(4));
  }

  u64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#take(8));
  }

  i64(): bigint {
    return this.#bytes.readBigInt64LE(this.#take(8));
  }

  f32(): number {
    return this.#bytes.readFloatLE(this.#take(4));
  }

  f64(): number {
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  /** A length; one that no packet could hold is refused here. */
  length(): number {
    const first = this.u8();
    if (first < 0xfb) return first;
    if (first === 0xfc) return this.u16();
    if (first === 0xfd) return this.u16() | (this.u8() << 16);
    if (first !== 0xfe) throw malformed("a length begins with 0xFB or 0xFF");
    const long = this.u64();
    if (long > BigInt(this.remaining)) throw malformed("a length is over the packet's end");
    return Number(long);
  }

  bytes(count: number): Buffer {
    const start = this.#take(count);
    return this.#bytes.subarray(start, start + count);
  }

  lengthBytes(): Buffer {
    return this.bytes(this.length());
  }

  nulBytes(): Buffer {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end === -1) throw malformed("a string has no end");
    const found = this.#bytes.subarray(this.#at, end);
    this.#at = end + 1;
    return found;
  }

  nulText(): string {
    return this.nulBytes().toString("utf8");
  }

  /** A nul-string at the end of a packet, whose zero byte some clients leave out. */
  nulOrRest(): Buffer {
    return this.#bytes.indexOf(0, this.#at) === -1 ? this.rest() : this.nulBytes();
  }

  rest(): Buffer {
    return this.bytes(this.remaining);
  }

  skip(count: number): void {
    this.#take(count);
  }

  #take(count: number): number {
    const start = this.#at;
    if (count > this.#bytes.length - start) throw malformed("the packet ends too early");
    this.#at = start + count;
    return start;
  }
}

function malformed(what: string) {
  return mysqlError("malformedPacket", `Malformed communication packet: ${what}`);
}
