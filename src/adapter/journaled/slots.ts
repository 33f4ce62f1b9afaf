import { crc32 } from "node:zlib";
import { asBuffer } from "../../port/bytes.ts";
import type { Bytes } from "../../port/store.ts";

/**
 * A write takes as many slots in a row as it needs: u32 magic · u32 crc32 of what follows · 16 bytes id of the file · u64 number of its
 * first slot · u32 length of the key · u32 length of the value · key · value, then zeros. Big endian. A slot is as long as a page, so that
 * no write touches what an earlier one has made durable. Every slot after the first begins with four zeros, which are no part of what it holds:
 * what a client has sent can't be taken for the beginning of a write.
 */
export const slotBytes = 4096;
export const idBytes = 16;
/** What a write takes at most. */
export const slotsPerWriteMax = 8;

const magic = 0x4e454a31;
const headBytes = 40;
const gapBytes = 4;
const firstBytes = slotBytes - headBytes;
const furtherBytes = slotBytes - gapBytes;

/** What a key and its value may take together. */
export const payloadBytesMax = firstBytes + (slotsPerWriteMax - 1) * furtherBytes;

export interface SlotWrite {
  readonly number: number;
  readonly slots: number;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** How many slots a write takes. */
export function slotsOf(key: Bytes, value: Bytes): number {
  return 1 + Math.max(0, Math.ceil((key.length + value.length - firstBytes) / furtherBytes));
}

/** Where in its slots the byte of a payload is. */
function placeOf(position: number): number {
  const beyond = position - firstBytes;
  return beyond < 0
    ? headBytes + position
    : slotBytes + Math.floor(beyond / furtherBytes) * slotBytes + gapBytes + (beyond % furtherBytes);
}

/** Calls back with each piece of a payload that lies in one slot: from where to where in the payload, and where in the slots. */
function forEachPiece(from: number, to: number, visit: (from: number, to: number, place: number) => void): void {
  for (let at = from; at < to; ) {
    const place = placeOf(at);
    const end = Math.min(to, at + slotBytes - (place % slotBytes));
    visit(at, end, place);
    at = end;
  }
}

/** Fills the first slots of a memory that has room for any write, whatever it held before, and returns them. */
export function encodeWrite(room: Buffer, id: Buffer, number: number, key: Bytes, value: Bytes): Buffer {
  const bytes = room.subarray(0, slotsOf(key, value) * slotBytes);
  bytes.writeUInt32BE(magic, 0);
  id.copy(bytes, 8);
  bytes.writeBigUInt64BE(BigInt(number), 24);
  bytes.writeUInt32BE(key.length, 32);
  bytes.writeUInt32BE(value.length, 36);
  for (let gap = slotBytes; gap < bytes.length; gap += slotBytes) bytes.writeUInt32BE(0, gap);
  const length = key.length + value.length;
  forEachPiece(0, key.length, (from, to, place) => bytes.set(key.subarray(from, to), place));
  forEachPiece(key.length, length, (from, to, place) => {
    bytes.set(value.subarray(from - key.length, to - key.length), place);
  });
  const end = endOf(length);
  bytes.fill(0, end);
  bytes.writeUInt32BE(crc32(bytes.subarray(8, end)), 4);
  return bytes;
}

/** Where the slots of a payload hold nothing any more. */
function endOf(length: number): number {
  return length === 0 ? headBytes : placeOf(length - 1) + 1;
}

/** The write that begins in a slot of a file, and the file it was made for; undefined where there is none, or one that was cut short. */
export function decodeWrite(
  file: Buffer,
  slot: number,
): { readonly id: Buffer; readonly write: SlotWrite } | undefined {
  const bytes = file.subarray(slot * slotBytes, (slot + slotsPerWriteMax) * slotBytes);
  if (bytes.length < slotBytes || bytes.readUInt32BE(0) !== magic) return undefined;
  const keyLength = bytes.readUInt32BE(32);
  const length = keyLength + bytes.readUInt32BE(36);
  const end = endOf(length);
  if (end > bytes.length || bytes.readUInt32BE(4) !== crc32(bytes.subarray(8, end))) return undefined;
  const payload = Buffer.alloc(length);
  forEachPiece(0, length, (from, to, place) => void bytes.copy(payload, from, place, place + to - from));
  return {
    id: bytes.subarray(8, 8 + idBytes),
    write: {
      number: Number(bytes.readBigUInt64BE(24)),
      slots: Math.ceil(end / slotBytes),
      key: payload.subarray(0, keyLength),
      value: payload.subarray(keyLength),
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
  /** Each write is in one slot, as the builds before format 6 have it; so far nothing keeps them away. */
  readonly isNarrow?: boolean;
}

const markBytes = idBytes + 8 + 1;
/** Behind a mark of a file with writes of several slots: one that a build which reads no such writes refuses. */
const wideBytes = 1;

export function encodeMark({ id, from, isClosed }: Mark): Buffer {
  const bytes = Buffer.alloc(4 + markBytes + (isClosed ? 0 : wideBytes));
  id.copy(bytes, 4);
  bytes.writeBigUInt64BE(BigInt(from), 4 + idBytes);
  bytes[4 + idBytes + 8] = isClosed ? 1 : 0;
  bytes.writeUInt32BE(crc32(bytes.subarray(4)));
  return bytes;
}

/** Undefined for a damaged one. */
export function decodeMark(stored: Bytes): Mark | undefined {
  const bytes = asBuffer(stored);
  const isNarrow = bytes.length === 4 + markBytes;
  if ((!isNarrow && bytes.length !== 4 + markBytes + wideBytes) || bytes.readUInt32BE() !== crc32(bytes.subarray(4)))
    return undefined;
  return {
    id: Buffer.from(bytes.subarray(4, 4 + idBytes)),
    from: Number(bytes.readBigUInt64BE(4 + idBytes)),
    isClosed: bytes[4 + idBytes + 8] === 1,
    isNarrow,
  };
}
