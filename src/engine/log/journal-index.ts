import assert from "node:assert/strict";
import { partitionNumber, partitionOfNumber } from "../keys.ts";
import { baseOffsetIn, type Chunk, forEachBatch, JournaledBatches } from "./journal-value.ts";
import { PlaceTable } from "./place-table.ts";

/** What the journal holds of a partition, never empty. The list is replaced when its head is moved, never shortened. */
export interface JournaledPartition {
  readonly stream: number;
  readonly partition: number;
  batches: JournaledBatches;
  /** How many batches before these have left it again. */
  gone: number;
}

export type PartitionPlace = Pick<JournaledPartition, "stream" | "partition">;

/** Numbers of a batch in the ring: its value's, its start and end in memory, its base offset, and the batch of its partition before it. */
const batchNumbers = 5;
/** As a power of two. */
const ringMin = 1_024;
const chunksMin = 256;
const chunkNumbersEach = 2;
/** Batches of a partition that are put into its list together. */
const unlistedMax = 256;

/**
 * The values of the journal, and their batches by partition. With thousands of partitions, a list of each that every append goes to is memory that no cache
 * has. So a batch is noted in a ring of numbers first, linked with the one before it; the lists are made of these when somebody asks for them.
 */
export class JournalIndex {
  /** In the order in which they were written, which is the order in which they go. */
  readonly chunks: Chunk[] = [];
  #chunksGone = 0;
  /** Of each value, by its number: how many of its batches are in no other place yet, and its memory. The value itself is in no cache any more when it is moved. */
  #chunkNumbers = new Float64Array(chunksMin * chunkNumbersEach);
  /** Pieces of memory that the values lie in, from the first value's on; mostly many in each. */
  #memory: Buffer[] = [];
  #memoryGone = 0;
  /** From the first batch of the first value on. */
  #ring = new Float64Array(ringMin * batchNumbers);
  #ringBatches = ringMin;
  #first = 0;
  #next = 0;
  /** Of each partition the last of its batches that is not in its list, and how many there are. */
  readonly #unlisted = new PlaceTable(2);
  readonly #lists = new Map<number, JournaledPartition>();
  readonly #scratch: number[] = [];

  /** Adds a value, with all its batches or those that are chosen. */
  push(chunk: Chunk, isChosen?: (stream: number, partition: number, base: number) => boolean): void {
    const number = this.#chunksGone + this.chunks.push(chunk) - 1;
    if (this.chunks.length * chunkNumbersEach > this.#chunkNumbers.length) this.#growChunks();
    const { byteOffset } = chunk.bytes;
    const at = this.#chunkPlace(number);
    this.#chunkNumbers[at + 1] = this.#memoryOf(chunk.bytes);
    forEachBatch(chunk.bytes, (stream, partition, start, end) => {
      const base = baseOffsetIn(chunk.bytes, start);
      if (isChosen !== undefined && !isChosen(stream, partition, base)) return;
      chunk.batches++;
      this.#add(partitionNumber(stream, partition), number, byteOffset + start, byteOffset + end, base);
    });
    this.#chunkNumbers[at] = chunk.batches;
  }

  /** Whether the value at this place among them is only there to be deleted. */
  isDead(index: number): boolean {
    return index < this.chunks.length && this.#chunkNumbers[this.#chunkPlace(this.#chunksGone + index)] === 0;
  }

  /** Drops the first values, of which nothing is left. */
  drop(count: number): void {
    for (const { batches } of this.chunks.splice(0, count)) this.#first += batches;
    this.#chunksGone += count;
    const isEmpty = this.chunks.length === 0;
    const kept = isEmpty
      ? this.#memoryGone + this.#memory.length
      : this.#chunkNumbers[this.#chunkPlace(this.#chunksGone) + 1]!;
    this.#memory.splice(0, kept - this.#memoryGone);
    this.#memoryGone = kept;
    if (this.chunks.length > 0 || this.#ringBatches === ringMin) return;
    this.#ringBatches = ringMin;
    this.#ring = new Float64Array(ringMin * batchNumbers);
  }

  get(stream: number, partition: number): JournaledPartition | undefined {
    const key = partitionNumber(stream, partition);
    this.#list(key);
    return this.#lists.get(key);
  }

  /** Where it holds anything, by stream and partition. */
  places(): PartitionPlace[] {
    const keys = new Set([...this.#unlisted.keys(), ...this.#lists.keys()]);
    return Array.from(Float64Array.from(keys).sort(), partitionOfNumber);
  }

  /** The first batches of a partition have left the journal. */
  remove(from: JournaledPartition, count: number): void {
    const { stream, partition, batches } = from;
    assert(count <= batches.length, "no more batches leave the journal than it has");
    for (let i = 0; i < count; i++) this.#chunkNumbers[this.#chunkPlace(batches.chunk(i))]!--;
    from.batches = batches.from(count);
    from.gone += count;
    if (count < batches.length) return;
    const key = partitionNumber(stream, partition);
    if (this.#lists.get(key) === from) this.#lists.delete(key);
  }

  #add(key: number, chunk: number, start: number, end: number, base: number): void {
    if (this.#next - this.#first === this.#ringBatches) this.#grow();
    const found = this.#unlisted.find(key);
    const at = found < 0 ? this.#unlisted.add(key, 0) : found;
    const { numbers } = this.#unlisted;
    const place = this.#placeOf(this.#next);
    const ring = this.#ring;
    ring[place] = chunk;
    ring[place + 1] = start;
    ring[place + 2] = end;
    ring[place + 3] = base;
    ring[place + 4] = numbers[at]!;
    numbers[at] = this.#next++;
    const count = numbers[at + 1]! + 1;
    numbers[at + 1] = count;
    if (count >= unlistedMax) this.#list(key);
  }

  #chunkPlace(chunk: number): number {
    return (chunk * chunkNumbersEach) & (this.#chunkNumbers.length - 1);
  }

  #growChunks(): void {
    const before = this.#chunkNumbers;
    this.#chunkNumbers = new Float64Array(before.length * 2);
    // All but the one that is new.
    for (let i = 0; i < this.chunks.length - 1; i++) {
      const chunk = this.#chunksGone + i;
      const from = (chunk * chunkNumbersEach) & (before.length - 1);
      const to = this.#chunkPlace(chunk);
      for (let j = 0; j < chunkNumbersEach; j++) this.#chunkNumbers[to + j] = before[from + j]!;
    }
  }

  /** The number of the memory that a value lies in. */
  #memoryOf(bytes: Buffer): number {
    if (this.#memory.at(-1)?.buffer !== bytes.buffer) this.#memory.push(Buffer.from(bytes.buffer));
    return this.#memoryGone + this.#memory.length - 1;
  }

  #placeOf(batch: number): number {
    return (batch & (this.#ringBatches - 1)) * batchNumbers;
  }

  #grow(): void {
    const before = this.#ring;
    const split = this.#placeOf(this.#first);
    this.#ringBatches *= 2;
    this.#ring = new Float64Array(this.#ringBatches * batchNumbers);
    // It is full: from its first batch to the end, and from there to the first one.
    this.#copyIn(before.subarray(split), this.#first);
    this.#copyIn(before.subarray(0, split), this.#first + (before.length - split) / batchNumbers);
  }

  #copyIn(numbers: Float64Array, batch: number): void {
    const at = this.#placeOf(batch);
    const fitting = Math.min(numbers.length, this.#ring.length - at);
    this.#ring.set(numbers.subarray(0, fitting), at);
    this.#ring.set(numbers.subarray(fitting), 0);
  }

  /** Puts all batches of a partition into its list. */
  #list(key: number): void {
    const found = this.#unlisted.find(key);
    if (found < 0) return;
    const last = this.#unlisted.numbers[found]!;
    const count = this.#unlisted.numbers[found + 1]!;
    this.#unlisted.delete(key);
    let list = this.#lists.get(key);
    if (list === undefined) {
      list = { ...partitionOfNumber(key), batches: new JournaledBatches(), gone: 0 };
      this.#lists.set(key, list);
    }
    const ring = this.#ring;
    const scratch = this.#scratch;
    for (let i = 0, batch = last; i < count; i++) {
      const place = this.#placeOf(batch);
      scratch[i] = place;
      batch = ring[place + 4]!;
    }
    for (let i = count - 1; i >= 0; i--) {
      const place = scratch[i]!;
      const chunk = ring[place]!;
      const memory = this.#memory[this.#chunkNumbers[this.#chunkPlace(chunk) + 1]! - this.#memoryGone]!;
      list.batches.add(memory, chunk, ring[place + 1]!, ring[place + 2]!, ring[place + 3]!);
    }
  }
}
