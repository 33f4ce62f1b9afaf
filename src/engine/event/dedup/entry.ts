import { sipHash } from "./sip-hash.ts";

/** Where an event was first written. */
export interface EventPlace {
  readonly partition: number;
  readonly offset: number;
}

/** What stands for an event: a digest of its stream, source and id, with a key that is the store's own. */
export const digestWordCount = 4;

export function eventDigest(
  key: Buffer,
  stream: number,
  source: string,
  id: string,
  into: Uint32Array,
  at: number,
): void {
  sipHash(key, Buffer.from(eventMessage(stream, source, id)), into, at);
}

/** Neither can hold a control character, so the separator keeps ("a", "bc") and ("ab", "c") apart. */
export function eventMessage(stream: number, source: string, id: string): string {
  return `${stream}\n${source}\n${id}`;
}

/**
 * One remembered event: nine u32, little endian on the disk. Four of the digest, two of the time it was written
 * (high, low), the partition, two of the offset.
 */
export const entryWords = 9;
export const entryBytes = entryWords * 4;
export const timeWord = 4;
const placeWord = 6;

const two32 = 2 ** 32;

/** Digests are given as the array they are in and the place of their first word. */
export function writeEntry(
  words: Uint32Array,
  at: number,
  digests: Uint32Array,
  digestAt: number,
  timeMs: number,
  partition: number,
  offset: number,
): void {
  words[at] = digests[digestAt]!;
  words[at + 1] = digests[digestAt + 1]!;
  words[at + 2] = digests[digestAt + 2]!;
  words[at + 3] = digests[digestAt + 3]!;
  // The low words are what is left of a number that is put into 32 bits; a remainder would take ten times as long.
  words[at + timeWord] = timeMs / two32;
  words[at + timeWord + 1] = timeMs;
  words[at + placeWord] = partition;
  words[at + placeWord + 1] = offset / two32;
  words[at + placeWord + 2] = offset;
}

/** Word by word: that is several times as fast as a copy of so few by the array's own method. */
export function copyEntry(from: Uint32Array, at: number, to: Uint32Array, toAt: number): void {
  to[toAt] = from[at]!;
  to[toAt + 1] = from[at + 1]!;
  to[toAt + 2] = from[at + 2]!;
  to[toAt + 3] = from[at + 3]!;
  to[toAt + 4] = from[at + 4]!;
  to[toAt + 5] = from[at + 5]!;
  to[toAt + 6] = from[at + 6]!;
  to[toAt + 7] = from[at + 7]!;
  to[toAt + 8] = from[at + 8]!;
}

export function entryHas(words: Uint32Array, at: number, digests: Uint32Array, digestAt: number): boolean {
  return (
    words[at] === digests[digestAt] &&
    words[at + 1] === digests[digestAt + 1] &&
    words[at + 2] === digests[digestAt + 2] &&
    words[at + 3] === digests[digestAt + 3]
  );
}

export function entryTimeMs(words: Uint32Array, at: number): number {
  return words[at + timeWord]! * two32 + words[at + timeWord + 1]!;
}

export function entryPlace(words: Uint32Array, at: number): EventPlace {
  return {
    partition: words[at + placeWord]!,
    offset: words[at + placeWord + 1]! * two32 + words[at + placeWord + 2]!,
  };
}

/** Entries as they were stored, where they are if that is aligned to words. */
export function entriesFromBytes(bytes: Uint8Array): Uint32Array {
  if (bytes.byteOffset % 4 === 0) return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
  const words = new Uint32Array(Math.floor(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes.subarray(0, words.length * 4));
  return words;
}
