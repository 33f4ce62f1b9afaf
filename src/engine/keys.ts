/**
 * The key ranges of the Store. A key is a table's tag byte and fixed-width big-endian numbers, then text or bytes, so
 * that byte order is the order of the numbers.
 */
export const tables = {
  format: 0x00,
  nextId: 0x02,
  namespace: 0x03,
  stream: 0x04,
  droppedStream: 0x06,
  retainedStream: 0x07,
  /** By the name of the namespace. */
  quota: 0x08,
  log: 0x10,
  partition: 0x11,
  idempotency: 0x12,
  idempotencyExpiry: 0x13,
  /** Of formats up to 7: events that are remembered by SHA-256, until the window has passed over them (`event/dedup/older-events.ts`). */
  olderDedupRun: 0x14,
  olderDedupPage: 0x15,
  olderDedupSegment: 0x16,
  /** Of formats 2 to 6 alone: small batches that were not at their keys yet, and what the store knew of a file with more of them. */
  journal: 0x17,
  journalMark: 0x18,
  /** Of the store itself: which commit log it belongs to and what it has applied of it (adapter/logged). */
  commitLog: 0x19,
  dedupKey: 0x1a,
  dedupRun: 0x1b,
  dedupPage: 0x1c,
  dedupSegment: 0x1d,
  link: 0x20,
  linkState: 0x21,
  counter: 0x22,
  droppedLink: 0x23,
  linkFill: 0x24,
  collection: 0x30,
  alias: 0x31,
  document: 0x32,
  manifest: 0x33,
  collectionTotals: 0x34,
  droppedCollection: 0x35,
  liveMeta: 0x40,
  liveTick: 0x41,
  liveDocument: 0x42,
  liveIndex: 0x43,
  liveHistory: 0x44,
  liveIndexHistory: 0x45,
  /** History keys by the tick that made them, for the background that frees them. */
  liveExpiry: 0x46,
  liveBundle: 0x47,
  droppedLiveTable: 0x48,
  instance: 0x50,
} as const;

export type Table = (typeof tables)[keyof typeof tables];

const two32 = 2 ** 32;

export function writeU64(target: Buffer, position: number, value: number): number {
  target.writeUInt32BE(Math.floor(value / two32), position);
  return target.writeUInt32BE(value % two32, position + 4);
}

export function readU64(source: Uint8Array, position: number): number {
  return readU32(source, position) * two32 + readU32(source, position + 4);
}

/** Of keys, which the store may hand out as bytes of whatever kind. */
export function readU32(source: Uint8Array, position: number): number {
  if (position + 4 > source.length) throw new RangeError("a stored number is cut short");
  const high = (source[position]! << 8) | source[position + 1]!;
  return high * 65_536 + ((source[position + 2]! << 8) | source[position + 3]!);
}

/** More than any stream has. */
const partitionsBound = 16_384;

/** One number for a partition of a stream, as long as the stream's id is below 2^39. */
export function partitionNumber(stream: number, partition: number): number {
  return stream * partitionsBound + partition;
}

export function partitionOfNumber(number: number): { stream: number; partition: number } {
  const partition = number % partitionsBound;
  return { stream: (number - partition) / partitionsBound, partition };
}

export type KeyPart = number | string | Uint8Array;

/** Numbers become 8 bytes; text and bytes are appended as they are, so only the last part may vary in length. */
export function makeKey(table: Table, ...parts: readonly KeyPart[]): Buffer {
  let length = 1;
  for (const part of parts) length += typeof part === "number" ? 8 : part.length;
  const key = Buffer.allocUnsafe(length);
  key[0] = table;
  let position = 1;
  for (const part of parts) {
    if (typeof part === "number") position = writeU64(key, position, part);
    else if (typeof part === "string") position += key.write(part, position, "latin1");
    else {
      key.set(part, position);
      position += part.length;
    }
  }
  return key;
}

/** The key after every key that starts with these bytes. */
export function afterPrefix(prefix: Uint8Array): Buffer {
  const end = Buffer.from(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    const byte = end[i]!;
    if (byte < 0xff) {
      end[i] = byte + 1;
      return end.subarray(0, i + 1);
    }
  }
  throw new Error("a prefix of 0xff bytes has no end");
}

export function prefixRange(table: Table, ...parts: readonly KeyPart[]): { from: Buffer; to: Buffer } {
  const from = makeKey(table, ...parts);
  return { from, to: afterPrefix(from) };
}

/** The log's key of a batch; the hot path, so written out. */
export function logKey(stream: number, partition: number, baseOffset: number): Buffer {
  const key = Buffer.allocUnsafe(21);
  key[0] = tables.log;
  writeU64(key, 1, stream);
  key.writeUInt32BE(partition, 9);
  writeU64(key, 13, baseOffset);
  return key;
}

export function logKeyOffset(key: Uint8Array): number {
  return readU64(key, 13);
}

/** Of a batch, and of a partition itself. */
export function logKeyPlace(key: Uint8Array): { stream: number; partition: number } {
  return { stream: readU64(key, 1), partition: readU32(key, 9) };
}

export function partitionKey(stream: number, partition: number): Buffer {
  const key = Buffer.allocUnsafe(13);
  key[0] = tables.partition;
  writeU64(key, 1, stream);
  key.writeUInt32BE(partition, 9);
  return key;
}
