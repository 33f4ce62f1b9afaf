import assert from "node:assert/strict";

const headerBytes = 4;
/** The longest payload of one packet; a message of this length or more goes on in the next, which may be empty. */
export const payloadBytesMax = 0xff_ff_ff;

/**
 * Writes messages as packets into one growing buffer, so that many rows leave in one write.
 *
 *   packet  := u24 payload length, u8 sequence id, payload
 *   message := packets of 2^24-1 bytes, then one that is shorter
 */
export class PacketWriter {
  /** The sequence id of the next packet; it counts both sides' packets of a command and wraps at 256. */
  sequence = 0;
  #buffer: Buffer;
  #length = 0;
  #start = -1;

  constructor(initialBytes = 1024) {
    this.#buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** Bytes that wait to be taken. */
  get length(): number {
    return this.#length;
  }

  begin(): this {
    assert(this.#start === -1, "one message is written at a time");
    this.#start = this.#length;
    this.#reserve(headerBytes);
    this.#length += headerBytes;
    return this;
  }

  end(): void {
    const payload = this.#length - this.#start - headerBytes;
    if (payload < payloadBytesMax) this.#header(this.#start, payload);
    else this.#split(payload);
    this.#start = -1;
  }

  /** Drops the message that was begun, for example because one of its values can't be encoded. */
  abandon(): void {
    if (this.#start === -1) return;
    this.#length = this.#start;
    this.#start = -1;
  }

  /** The packets so far; the writer starts over. */
  take(): Buffer {
    assert(this.#start === -1, "only whole messages are sent");
    const bytes = this.#buffer.subarray(0, this.#length);
    // The socket may hold the old one for as long as its peer does not read.
    this.#buffer = Buffer.allocUnsafe(Math.min(this.#buffer.length, 128 * 1024));
    this.#length = 0;
    return bytes;
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
    return this;
  }

  u16(value: number): this {
    this.#reserve(2);
    this.#length = this.#buffer.writeUInt16LE(value & 0xffff, this.#length);
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(value >>> 0, this.#length);
    return this;
  }

  u64(value: bigint): this {
    this.#reserve(8);
    this.#length = this.#buffer.writeBigInt64LE(BigInt.asIntN(64, value), this.#length);
    return this;
  }

  f32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeFloatLE(value, this.#length);
    return this;
  }

  f64(value: number): this {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
    return this;
  }

  lengthInt(value: number): this {
    if (value < 0xfb) return this.u8(value);
    if (value < 0x1_00_00) return this.u8(0xfc).u16(value);
    if (value < 0x1_00_00_00) {
      return this.u8(0xfd)
        .u16(value & 0xffff)
        .u8(value >>> 16);
    }
    return this.u8(0xfe).u64(BigInt(value));
  }

  bytes(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  zeros(count: number): this {
    this.#reserve(count);
    this.#buffer.fill(0, this.#length, this.#length + count);
    this.#length += count;
    return this;
  }

  text(value: string): this {
    return this.bytes(Buffer.from(value, "utf8"));
  }

  nulText(value: string): this {
    return this.text(value).u8(0);
  }

  lengthBytes(value: Uint8Array): this {
    return this.lengthInt(value.length).bytes(value);
  }

  lengthText(value: string): this {
    return this.lengthBytes(Buffer.from(value, "utf8"));
  }

  /** A short text of ASCII, such as a number, written without a buffer of its own. */
  lengthAscii(value: string): this {
    const { length } = value;
    if (length > 0xfa) return this.lengthText(value);
    this.#reserve(length + 1);
    this.#buffer[this.#length] = length;
    this.#buffer.latin1Write(value, this.#length + 1, length);
    this.#length += length + 1;
    return this;
  }

  /** Where the next byte goes, for a bitmap that is filled in later; valid until `take`. */
  get position(): number {
    return this.#length;
  }

  setBit(position: number, bit: number): void {
    const at = position + (bit >> 3);
    this.#buffer[at] = this.#buffer[at]! | (1 << (bit & 7));
  }

  #header(at: number, payload: number): void {
    this.#buffer.writeUIntLE(payload, at, 3);
    this.#buffer[at + 3] = this.sequence;
    this.sequence = (this.sequence + 1) & 0xff;
  }

  /** Makes room for the headers of a message that is too long for one packet, from the end backwards. */
  #split(payload: number): void {
    const parts = Math.floor(payload / payloadBytesMax);
    const first = this.#start;
    this.#reserve(parts * headerBytes);
    for (let part = parts; part > 0; part--) {
      const from = first + headerBytes + part * payloadBytesMax;
      const to = from + part * headerBytes;
      const length = part === parts ? payload - parts * payloadBytesMax : payloadBytesMax;
      this.#buffer.copyWithin(to, from, from + length);
    }
    this.#length += parts * headerBytes;
    for (let part = 0; part <= parts; part++) {
      const at = first + part * (payloadBytesMax + headerBytes);
      this.#header(at, part === parts ? payload - parts * payloadBytesMax : payloadBytesMax);
    }
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Writes one row of a batch as a message; built for each batch, so that types are not looked up for each row. */
export type RowEncoder = (packet: PacketWriter, row: number) => void;
