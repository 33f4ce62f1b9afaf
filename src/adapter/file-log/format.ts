import { crc32 } from "../../port/checksum.ts";

/**
 * A segment is a file of pages. Its first page is its head: u32 magic · u32 crc32 of what follows · 16 bytes id of the log · u64 number of
 * the segment. Entries follow, each from the start of a page: u32 magic · u32 crc32 of what follows · 16 bytes id of the log · u64 position
 * · u64 length · the entry, then zeros up to the end of its last page. Big endian.
 *
 * Whole pages, so that no write touches what an earlier one has made durable. A segment that is used again still holds its old entries:
 * their positions are lower than any that is looked for. Nobody outside knows the log's id, so nothing that a client sends can pass for an entry.
 */
export const pageBytes = 4096;
export const idBytes = 16;
/** What an entry takes besides itself. */
export const entryHeadBytes = 40;

export const zeroPage = Buffer.alloc(pageBytes);

const segmentMagic = 0x4e45_5347;
const entryMagic = 0x4e45_454e;
const sumAt = 4;
const summedFrom = 8;
const numberAt = summedFrom + idBytes;
const lengthAt = numberAt + 8;
const segmentHeadBytes = numberAt + 8;

export interface FoundEntry {
  readonly position: number;
  readonly pages: number;
  readonly bytes: Buffer;
}

export function pagesOf(length: number): number {
  return Math.ceil((entryHeadBytes + length) / pageBytes);
}

export function encodeSegmentHead(id: Buffer, number: number): Buffer {
  const page = Buffer.alloc(pageBytes);
  page.writeUInt32BE(segmentMagic, 0);
  id.copy(page, summedFrom);
  page.writeBigUInt64BE(BigInt(number), numberAt);
  page.writeUInt32BE(crc32(page.subarray(summedFrom, segmentHeadBytes)), sumAt);
  return page;
}

/** Undefined for what is no head of a segment, or a damaged one. */
export function decodeSegmentHead(file: Buffer): { readonly id: Buffer; readonly number: number } | undefined {
  if (file.length < pageBytes || file.readUInt32BE(0) !== segmentMagic) return undefined;
  if (file.readUInt32BE(sumAt) !== crc32(file.subarray(summedFrom, segmentHeadBytes))) return undefined;
  return { id: file.subarray(summedFrom, numberAt), number: Number(file.readBigUInt64BE(numberAt)) };
}

/** The pages of an entry, as memory one after another: its head, itself, and zeros up to the end of its last page. */
export function entryPages(id: Buffer, position: number, entry: Buffer): Buffer[] {
  const head = Buffer.allocUnsafe(entryHeadBytes);
  head.writeUInt32BE(entryMagic, 0);
  id.copy(head, summedFrom);
  head.writeBigUInt64BE(BigInt(position), numberAt);
  head.writeBigUInt64BE(BigInt(entry.length), lengthAt);
  head.writeUInt32BE(crc32(entry, crc32(head.subarray(summedFrom))), sumAt);
  const end = entryHeadBytes + entry.length;
  return [head, entry, zeroPage.subarray(0, pagesOf(entry.length) * pageBytes - end)];
}

/** The entry of this log that begins in a page; undefined where there is none, or one that was cut short or damaged. */
export function decodeAt(file: Buffer, page: number, id: Buffer): FoundEntry | undefined {
  const at = page * pageBytes;
  if (at + entryHeadBytes > file.length || file.readUInt32BE(at) !== entryMagic) return undefined;
  if (!file.subarray(at + summedFrom, at + numberAt).equals(id)) return undefined;
  const length = Number(file.readBigUInt64BE(at + lengthAt));
  const end = at + entryHeadBytes + length;
  if (end > file.length || file.readUInt32BE(at + sumAt) !== crc32(file.subarray(at + summedFrom, end)))
    return undefined;
  return {
    position: Number(file.readBigUInt64BE(at + numberAt)),
    pages: pagesOf(length),
    bytes: file.subarray(at + entryHeadBytes, end),
  };
}
