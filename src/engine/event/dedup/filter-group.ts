import assert from "node:assert/strict";
import type { Reader } from "../../../port/store.ts";
import { digestWordCount, type EventPlace, entryWords } from "./entry.ts";
import type { EntryTable } from "./entry-table.ts";
import type { DedupSegment } from "./segment.ts";

/** Segments in a group: one for each bit of a byte. */
const segmentsMax = 8;
/** For four bits of a filter: each in a byte of its own. */
const spread = Uint32Array.from({ length: 16 }, (_, bits) => {
  return (bits & 1) | ((bits & 2) << 7) | ((bits & 4) << 14) | ((bits & 8) << 21);
});

/**
 * Up to eight segments whose Bloom filters lie across each other: a byte for each bit of a filter, and in it a bit for each
 * segment. One look tells of all eight, where a look at each filter would take most of the time that an event takes. It
 * has the memory of eight filters, however many there are.
 *
 * Before that one word tells of nearly all events that none of the eight has them: each sets three bits of a word. A look
 * at the filters waits for memory at each of its probes. Made of the events themselves, so that segments that were
 * read from the store do without, and are in groups of their own.
 */
export class FilterGroup {
  /** Oldest first; undefined where one has been dropped. */
  readonly #segments: (DedupSegment | undefined)[] = [];
  /** Undefined when memory has no room for it: then every look reads a page of each segment. */
  #bits: Uint8Array | undefined;
  #any: Int32Array | undefined;

  /** `filterBytes` is the length of the longest filter; `isNew` tells that the segments' tables will be given too. */
  constructor(filterBytes: number, isNew: boolean) {
    this.#bits = new Uint8Array(filterBytes * 8);
    // Eight bits and a half for an event of eight full segments.
    if (isNew) this.#any = new Int32Array(filterBytes);
  }

  get bytes(): number {
    return (this.#bits?.length ?? 0) + (this.#any?.byteLength ?? 0);
  }

  get isEmpty(): boolean {
    return this.#segments.every((segment) => segment === undefined);
  }

  /** Whether a segment with a filter of so many bytes, and with or without a table, can still come in. */
  hasRoom(filterBytes: number, isNew: boolean): boolean {
    const fits = this.#bits !== undefined && filterBytes * 8 <= this.#bits.length;
    return fits && this.#segments.length < segmentsMax && isNew === (this.#any !== undefined);
  }

  /** Adds a segment that is newer than those before it, with the table that it was made of unless it was read. */
  add(segment: DedupSegment, filter: Uint8Array, table?: EntryTable): void {
    assert(this.#bits !== undefined && this.hasRoom(filter.length, table !== undefined), "a group takes what fits");
    if (table !== undefined) addAny(this.#any!, table);
    const shift = this.#segments.push(segment) - 1;
    const words = new Uint32Array(this.#bits.buffer);
    // Lengths are powers of two: a shorter filter says the same when it is repeated.
    const mask = filter.length - 1;
    for (let word = 0, byte = 0; word < words.length; word += 2, byte++) {
      const bits = filter[byte & mask]!;
      words[word]! |= spread[bits & 15]! << shift;
      words[word + 1]! |= spread[bits >>> 4]! << shift;
    }
  }

  remove(segment: DedupSegment): void {
    const index = this.#segments.indexOf(segment);
    if (index >= 0) this.#segments[index] = undefined;
  }

  forgetFilters(): void {
    this.#bits = undefined;
    this.#any = undefined;
  }

  find(store: Pick<Reader, "peek">, digests: Uint32Array, digestAt: number, afterMs: number): EventPlace | undefined {
    let maybe = this.#maybe(digests[digestAt + 1]!, digests[digestAt + 2]! | 1);
    while (maybe !== 0) {
      const newest = 31 - Math.clz32(maybe);
      maybe ^= 1 << newest;
      const segment = this.#segments[newest];
      if (segment === undefined || segment.lastMs <= afterMs) continue;
      const place = segment.find(store, digests, digestAt, afterMs);
      if (place !== undefined) return place;
    }
    return undefined;
  }

  /**
   * The places of those of the first `count` digests that are here, added to `found`. Of nearly all events a load or a few
   * that wait for nothing tell that they are not. The others are looked at after
   * that: in between they would make it half as long again.
   */
  findAll(
    store: Pick<Reader, "peek">,
    digests: Uint32Array,
    count: number,
    afterMs: number,
    found: Map<number, EventPlace> | undefined,
  ): Map<number, EventPlace> | undefined {
    let places = found;
    const candidates = this.#candidates(digests, count);
    for (let n = 0; n < candidates; n++) {
      const i = candidateNumbers[n]!;
      const place = this.find(store, digests, i * digestWordCount, afterMs);
      if (place === undefined) continue;
      places ??= new Map();
      places.set(i, place);
    }
    return places;
  }

  /** How many of the first `count` digests may be here; which ones is in `candidateNumbers`. */
  #candidates(digests: Uint32Array, count: number): number {
    const bits = this.#bits;
    const any = this.#any;
    if (count > candidateNumbers.length) candidateNumbers = new Uint32Array(2 * count);
    const numbers = candidateNumbers;
    let candidates = 0;
    if (any !== undefined) {
      const mask = any.length - 1;
      for (let i = 0, at = 0; i < count; i++, at += digestWordCount) {
        const missing = threeBits(digests[at + 2]!) & ~any[digests[at + 3]! & mask]!;
        numbers[candidates] = i;
        // One more where nothing is missing. A branch would be mispredicted for each of those, and the loads after it start late.
        candidates += ((missing | -missing) >>> 31) ^ 1;
      }
      return candidates;
    }
    for (let i = 0, at = 0; i < count; i++, at += digestWordCount) {
      if (bits !== undefined && firstProbes(bits, digests[at + 1]!, digests[at + 2]! | 1) === 0) continue;
      numbers[candidates++] = i;
    }
    return candidates;
  }

  /** A bit for each segment that may have the event. Six probes, as `filterAdd` sets them. */
  #maybe(second: number, step: number): number {
    const bits = this.#bits;
    if (bits === undefined) return (1 << this.#segments.length) - 1;
    const mask = bits.length - 1;
    let at = second | 0;
    let maybe = bits[at & mask]!;
    at = (at + step) | 0;
    maybe &= bits[at & mask]!;
    at = (at + step) | 0;
    maybe &= bits[at & mask]!;
    if (maybe === 0) return 0;
    at = (at + step) | 0;
    maybe &= bits[at & mask]!;
    at = (at + step) | 0;
    maybe &= bits[at & mask]!;
    at = (at + step) | 0;
    return maybe & bits[at & mask]!;
  }
}

/** Used again by every look. */
let candidateNumbers = new Uint32Array(1024);

/** Four of the six. */
function firstProbes(bits: Uint8Array, second: number, step: number): number {
  const mask = bits.length - 1;
  const at = second | 0;
  const twice = (at + (step << 1)) | 0;
  return bits[at & mask]! & bits[(at + step) & mask]! & bits[twice & mask]! & bits[(twice + step) & mask]!;
}

/** The bits that an event sets in its word. */
function threeBits(third: number): number {
  return (1 << third) | (1 << (third >>> 5)) | (1 << (third >>> 10));
}

function addAny(any: Int32Array, { words, count }: EntryTable): void {
  const mask = any.length - 1;
  for (let at = 0; at < count * entryWords; at += entryWords) {
    any[words[at + 3]! & mask]! |= threeBits(words[at + 2]!);
  }
}
