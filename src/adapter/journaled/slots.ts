import { crc32 } from "node:zlib";
import { asBuffer } from "../../port/bytes.ts";
import type { Bytes } from "../../port/store.ts";

/**
 * A slot holds one write: u32 magic · u32 crc32 of what follows · 16 bytes id of the file · u64 number of the write · u32 length
 * of the key · u32 length of the value · key · value, then zeros. Big endian. It is as long as a page and written as a whole, so that no write
 * touches what an earlier one has made durable.
 */
export const slotBytes = 4096;
export const idBytes = 16;

const magic = 0x4e454a31;
const headBytes = 40;

/** What a key and its value may take together. */
export const slotPayloadMax = slotBytes - headBytes;

export interface SlotWrite {
  readonly number: number;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Fills a slot's memory, whatever it held before. */
export function encodeSlot(slot: Buffer, id: Buffer, number: number, key: Bytes, value: Bytes): void {
  slot.writeUInt32BE(magic, 0);
  id.copy(slot, 8);
  slot.writeBigUInt64BE(BigInt(number), 24);
  slot.writeUInt32BE(key.length, 32);
  slot.writeUInt32BE(value.length, 36);
  slot.set(key, headBytes);
  const end = headBytes + key.length + value.length;
  slot.set(value, headBytes + key.length);
  slot.fill(0, end);
  slot.writeUInt32BE(crc32(slot.subarray(8, end)), 4);
}

/** The write in a slot and the file it was made for; undefined where there is none, or one that was cut short. */
export function decodeSlot(slot: Buffer): { readonly id: Buffer; readonly write: SlotWrite } | undefined {
  if (slot.length < slotBytes || slot.readUInt32BE(0) !== magic) return undefined;
  const keyEnd = headBytes + slot.readUInt32BE(32);
  const end = keyEnd + slot.readUInt32BE(36);
  if (end > slotBytes || slot.readUInt32BE(4) !== crc32(slot.subarray(8, end))) return undefined;
  return {
    id: slot.subarray(8, 8 + idBytes),
    write: {
      number: Number(slot.readBigUInt64BE(24)),
      key: Buffer.from(slot.subarray(headBytes, keyEnd)),
      value: Buffer.from(slot.subarray(keyEnd, end)),
    },
  };
}

/**
 * What the store itself remembers of the file beside it, changed together with what it holds: whose it is, which writes
 * in it still count, and whether it was given up.
 */
export interface Mark {
  readonly id: Buffer;
  /** Writes with lower numbers are in the store, or were deleted. */
  readonly from: number;
  /** Nothing in the file counts, and the next writes go to a new one. */
  readonly isClosed: boolean;
}

const markBytes = idBytes + 8 + 1;

export function encodeMark({ id, from, isClosed }: Mark): Buffer {
  const bytes = Buffer.alloc(4 + markBytes);
  id.copy(bytes, 4);
  bytes.writeBigUInt64BE(BigInt(from), 4 + idBytes);
  bytes[4 + idBytes + 8] = isClosed ? 1 : 0;
  bytes.writeUInt32BE(crc32(bytes.subarray(4)));
  return bytes;
}

/** Undefined for a damaged one. */
export function decodeMark(stored: Bytes): Mark | undefined {
  const bytes = asBuffer(stored);
  if (bytes.length !== 4 + markBytes || bytes.readUInt32BE() !== crc32(bytes.subarray(4))) return undefined;
  return {
    id: Buffer.from(bytes.subarray(4, 4 + idBytes)),
    from: Number(bytes.readBigUInt64BE(4 + idBytes)),
    isClosed: bytes[4 + idBytes + 8] === 1,
  };
}
