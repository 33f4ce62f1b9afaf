import { crc32 } from "node:zlib";
import { asBuffer } from "../../port/bytes.ts";
import type { Bytes } from "../../port/store.ts";

/**
 * A write takes as many slots in a row as it needs: u32 magic · u32 crc32 of what follows · 16 bytes id of the file · u64 number of its
 * first slot · u32 length of the key · u32 length of the value · key · value, then zeros. Big endian. A slot is as long as a page, so that
 * no write touches what an earlier one has made durable. Nobody outside knows the file's id: what lies in the further slots of a write can't
 * be taken for the beginning of another.
 */
export const slotBytes = 4096;
export const idBytes = 16;
/** What a write takes at most. */
export const slotsPerWriteMax = 8;

const magic = 0x4e454a31;
const headBytes = 40;

/** What a key and its value may take together. */
export const payloadBytesMax = slotsPerWriteMax * slotBytes - headBytes;

export interface SlotWrite {
  readonly number: number;
  readonly slots: number;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** How many slots a write takes. */
export function slotsOf(key: Bytes, value: Bytes): number {
  return Math.ceil((headBytes + key.length + value.length) / slotBytes);
}

/** Fills the first slots of a memory that has room for any write, whatever it held before, and returns them. */
export function encodeWrite(room: Buffer, id: Buffer, number: number, key: Bytes, value: Bytes): Buffer {
  const bytes = room.subarray(0, slotsOf(key, value) * slotBytes);
  bytes.writeUInt32BE(magic, 0);
  id.copy(bytes, 8);
  bytes.writeBigUInt64BE(BigInt(number), 24);
  bytes.writeUInt32BE(key.length, 32);
  bytes.writeUInt32BE(value.length, 36);
  bytes.set(key, headBytes);
  const end = headBytes + key.length + value.length;
  bytes.set(value, headBytes + key.length);
  bytes.fill(0, end);
  bytes.writeUInt32BE(crc32(bytes.subarray(8, end)), 4);
  return bytes;
}

/** The write that begins in a slot of a file, and the file it was made for; undefined where there is none, or one that was cut short. */
export function decodeWrite(
  file: Buffer,
  slot: number,
): { readonly id: Buffer; readonly write: SlotWrite } | undefined {
  const bytes = file.subarray(slot * slotBytes, (slot + slotsPerWriteMax) * slotBytes);
  if (bytes.length < slotBytes || bytes.readUInt32BE(0) !== magic) return undefined;
  const keyEnd = headBytes + bytes.readUInt32BE(32);
  const end = keyEnd + bytes.readUInt32BE(36);
  if (end > bytes.length || bytes.readUInt32BE(4) !== crc32(bytes.subarray(8, end))) return undefined;
  return {
    id: bytes.subarray(8, 8 + idBytes),
    write: {
      number: Number(bytes.readBigUInt64BE(24)),
      slots: Math.ceil(end / slotBytes),
      key: Buffer.from(bytes.subarray(headBytes, keyEnd)),
      value: Buffer.from(bytes.subarray(keyEnd, end)),
    },
  };
}

/**
 * What the store itself remembers of the file beside it, changed together with what it holds: whose it is, which slots
 * of it still count, and whether it was given up.
 */
export interface Mark {
  readonly id: Buffer;
  /** Writes in slots with lower numbers are in the store, or were deleted. */
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
