import { crc32 } from "node:zlib";
import type { WriteOp } from "../../port/store.ts";
import { damaged } from "../errors.ts";
import { readU32, readU64 } from "../keys.ts";

/**
 * A value of the journal: u32 crc32 of the rest, then for each batch u64 stream · u32 partition · u32 length · the batch. Big endian.
 */
const sumBytes = 4;
const lengthBytes = 4;
/** What a batch takes besides itself. */
export const entryHeadBytes = 16;
const memoryBytes = 128 * 1024;

export type Put = Extract<WriteOp, { kind: "put" }>;

/** One value of the journal. */
export interface Chunk {
  readonly seq: number;
  readonly bytes: Buffer;
  readonly isBrief: boolean;
  /** Batches in it that are in no other place yet. */
  live: number;
}

/**
 * Batches of a partition in the journal, by their offsets. There are many for seconds, so they are no objects of their own: each is known by its
 * value and where it begins there, and what else there is to know of it is read from there.
 */
export class JournaledBatches {
  /** By turns a value and a place in it. The first ones may have been given up, and lists before this one may have the same. */
  readonly #places: (Chunk | number)[];
  readonly #head: number;

  constructor(places: (Chunk | number)[] = [], head = 0) {
    this.#places = places;
    this.#head = head;
  }

  get length(): number {
    return (this.#places.length - this.#head) / 2;
  }

  add(chunk: Chunk, start: number): void {
    this.#places.push(chunk, start);
  }

  chunk(index: number): Chunk {
    return this.#places[this.#head + 2 * index] as Chunk;
  }

  #start(index: number): number {
    return this.#places[this.#head + 2 * index + 1] as number;
  }

  size(index: number): number {
    return this.chunk(index).bytes.readUInt32BE(this.#start(index) - lengthBytes);
  }

  bytes(index: number): Buffer {
    const start = this.#start(index);
    return this.chunk(index).bytes.subarray(start, start + this.size(index));
  }

  base(index: number): number {
    return baseOffsetIn(this.chunk(index).bytes, this.#start(index));
  }

  /** The batch with this offset, or the last one before it. */
  find(offset: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.base(middle) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The ones from here on, as a list to go on with. */
  from(index: number): JournaledBatches {
    const head = this.#head + 2 * index;
    // A long list that is given up in steps is not copied for each.
    if (head < this.#places.length / 2) return new JournaledBatches(this.#places, head);
    return new JournaledBatches(this.#places.slice(head));
  }
}

/** Makes values of batches that are put. */
export class ValueEncoder {
  /** What the next values are cut from. */
  #memory = Buffer.alloc(0);

  encode(taken: readonly Put[]): Buffer {
    let length = sumBytes;
    for (const { value } of taken) length += entryHeadBytes + value.length;
    const bytes = this.#cut(length);
    let at = sumBytes;
    for (const { key, value } of taken) {
      // Stream and partition, as the key has them.
      for (let i = 1; i <= 12; i++) bytes[at++] = key[i]!;
      at = bytes.writeUInt32BE(value.length, at);
      bytes.set(value, at);
      at += value.length;
    }
    bytes.writeUInt32BE(crc32(bytes.subarray(sumBytes)));
    return bytes;
  }

  /** Values come and go in their order, so they are cut from larger pieces of memory, which go as a whole. */
  #cut(length: number): Buffer {
    if (length > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.max(length, memoryBytes));
    const bytes = this.#memory.subarray(0, length);
    this.#memory = this.#memory.subarray(length);
    return bytes;
  }
}

/** Throws for a stored value that is damaged. */
export function verifyValue(bytes: Buffer): void {
  if (bytes.length < sumBytes || bytes.readUInt32BE() !== crc32(bytes.subarray(sumBytes))) {
    throw damaged("a value of the log's journal is damaged (checksum)");
  }
}

/** Where each batch of a value is from and where it lies. */
export function forEachBatch(
  bytes: Buffer,
  visit: (stream: number, partition: number, start: number, end: number) => void,
): void {
  let at = sumBytes;
  while (at < bytes.length) {
    const start = at + entryHeadBytes;
    const end = start + readU32(bytes, start - lengthBytes);
    visit(readU64(bytes, at), readU32(bytes, at + 8), start, end);
    at = end;
  }
}

/** Where a batch's header has it; the batch itself is verified when it is read. */
export function baseOffsetIn(bytes: Buffer, start: number): number {
  return bytes.readDoubleLE(start + 16);
}
