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
  /** Batches in it that were in no other place when it was read or written. */
  batches: number;
}

/** Batches of a part of a list, as a power of two. */
const partBits = 8;
const partMask = (1 << partBits) - 1;
/** Batches that have been given up for which a part holds on to memory at most, as a power of two. */
const goneBits = 5;
const nothing = Buffer.alloc(0);
/** Of each batch: its value's number, where it begins and ends in its memory, and its base offset. */
const numbersEach = 4;

/** A part of a list: full, unless it is the last one. */
interface Part {
  readonly memory: Buffer[];
  readonly numbers: number[];
}

/**
 * Batches of a partition in the journal, by their offsets. There are many for seconds, so they are no objects of their own, nor is their list in one
 * piece, which would be copied as it grows. What is asked of all of them is kept here: a value that was written a while ago is in no cache any more.
 */
export class JournaledBatches {
  readonly #parts: Part[];
  /** Batches of the first part that have been given up. */
  readonly #head: number;
  #length: number;

  constructor(parts: Part[] = [], head = 0, length = 0) {
    this.#parts = parts;
    this.#head = head;
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  /** The pieces of memory that it holds on to. */
  get memory(): ReadonlySet<Buffer> {
    return new Set(this.#parts.flatMap(({ memory }) => memory));
  }

  /** `memory` is one piece for many values: which value a batch is of need not be looked at to find it. */
  add(memory: Buffer, chunk: number, start: number, end: number, base: number): void {
    const at = this.#head + this.#length++;
    if (at >> partBits === this.#parts.length) this.#parts.push({ memory: [], numbers: [] });
    const part = this.#parts[at >> partBits]!;
    part.memory.push(memory);
    part.numbers.push(chunk, start, end, base);
  }

  /** The number of the value that a batch is in. */
  chunk(index: number): number {
    const at = this.#head + index;
    return this.#parts[at >> partBits]!.numbers[(at & partMask) * numbersEach]!;
  }

  bytes(index: number): Buffer {
    const at = this.#head + index;
    const { memory, numbers } = this.#parts[at >> partBits]!;
    const from = (at & partMask) * numbersEach;
    return memory[at & partMask]!.subarray(numbers[from + 1], numbers[from + 2]);
  }

  base(index: number): number {
    const at = this.#head + index;
    return this.#parts[at >> partBits]!.numbers[(at & partMask) * numbersEach + 3]!;
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

  /** The ones from here on, as a list to go on with. What is added to it is not in this one. */
  from(index: number): JournaledBatches {
    const at = this.#head + index;
    const head = at & partMask;
    const parts = this.#parts.slice(at >> partBits);
    const headBefore = at >> partBits === 0 ? this.#head : 0;
    if (index < this.#length && head >> goneBits > headBefore >> goneBits) {
      const { memory, numbers } = parts[0]!;
      // Another part: this list may be somebody's still.
      parts[0] = { memory: memory.map((each, i) => (i < head ? nothing : each)), numbers: numbers.slice() };
    }
    return new JournaledBatches(parts, head, this.#length - index);
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
