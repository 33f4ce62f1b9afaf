import assert from "node:assert/strict";
import type { Reader } from "../../../port/store.ts";
import { digestWordCount, type EventPlace } from "./entry.ts";
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
 */
export class FilterGroup {
  /** Oldest first; undefined where one has been dropped or is yet to come. */
  readonly #segments: (DedupSegment | undefined)[] = [];
  /** Places that were taken for segments to come. */
  #reserved = 0;
  /** Undefined when memory has no room for it: then every look reads a page of each segment. */
  #bits: Uint8Array | undefined;

  /** `filterBytes` is the length of the longest filter. */
  constructor(filterBytes: number) {
    this.#bits = new Uint8Array(new SharedArrayBuffer(filterBytes * 8));
  }

  get bytes(): number {
    return this.#bits?.length ?? 0;
  }

  get isEmpty(): boolean {
    return this.#reserved === 0 && this.#segments.every((segment) => segment === undefined);
  }

  /** Whether a segment with a filter of so many bytes can still come in. */
  hasRoom(filterBytes: number): boolean {
    const fits = this.#bits !== undefined && filterBytes * 8 <= this.#bits.length;
    return fits && this.#segments.length < segmentsMax;
  }

  /** Takes the place of a segment that is newer than those before it, and returns its number. */
  reserve(filterBytes: number): number {
    assert(this.hasRoom(filterBytes), "a group takes what fits");
    this.#reserved++;
    return this.#segments.push(undefined) - 1;
  }

  /** What a filter is laid across at its place; undefined where memory has no room for it. */
  get bits(): Uint8Array | undefined {
    return this.#bits;
  }

  /** The segment of a place that was taken. */
  fill(place: number, segment: DedupSegment): void {
    assert(this.#reserved > 0 && this.#segments[place] === undefined, "a place is taken and filled once");
    this.#reserved--;
    this.#segments[place] = segment;
  }

  remove(segment: DedupSegment): void {
    const index = this.#segments.indexOf(segment);
    if (index >= 0) this.#segments[index] = undefined;
  }

  forgetFilters(): void {
    this.#bits = undefined;
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

  /** The places of those digests that are here, added to `found`; the numbers of digests to look for begin `candidates`. */
  findThose(
    store: Pick<Reader, "peek">,
    digests: Uint32Array,
    candidates: Uint32Array,
    count: number,
    afterMs: number,
    found: Map<number, EventPlace> | undefined,
  ): Map<number, EventPlace> | undefined {
    let places = found;
    for (let n = 0; n < count; n++) {
      const i = candidates[n]!;
      const place = this.find(store, digests, i * digestWordCount, afterMs);
      if (place === undefined) continue;
      places ??= new Map();
      places.set(i, place);
    }
    return places;
  }

  /** Puts the numbers of those of the first `count` digests that may be here into `candidates`, and returns how many. */
  candidatesOf(digests: Uint32Array, count: number, candidates: Uint32Array): number {
    const bits = this.#bits;
    let found = 0;
    for (let i = 0, at = 0; i < count; i++, at += digestWordCount) {
      if (bits !== undefined && firstProbes(bits, digests[at + 1]!, digests[at + 2]! | 1) === 0) continue;
      candidates[found++] = i;
    }
    return found;
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

/** Four of the six. */
function firstProbes(bits: Uint8Array, second: number, step: number): number {
  const mask = bits.length - 1;
  const at = second | 0;
  const twice = (at + (step << 1)) | 0;
  return bits[at & mask]! & bits[(at + step) & mask]! & bits[twice & mask]! & bits[(twice + step) & mask]!;
}

/** Lays a filter across those of other segments. It finds nothing until its segment is there. */
export function spreadFilter(bits: Uint8Array, place: number, filter: Uint8Array): void {
  const words = new Uint32Array(bits.buffer);
  // Lengths are powers of two: a shorter filter says the same when it is repeated.
  const mask = filter.length - 1;
  for (let word = 0, byte = 0; word < words.length; word += 2, byte++) {
    const each = filter[byte & mask]!;
    words[word]! |= spread[each & 15]! << place;
    words[word + 1]! |= spread[each >>> 4]! << place;
  }
}
