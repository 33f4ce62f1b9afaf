import { hash } from "node:crypto";

/** Where an event was first written. */
export interface EventPlace {
  readonly partition: number;
  readonly offset: number;
}

/**
 * What stands for a stream's event: a digest of the stream, source and id, one character a byte. Text, since it also
 * is a key of sets, and the digest is made as text in a third of the time.
 */
export function eventDigest(stream: number, source: string, id: string): string {
  // Neither can hold a control character, so the separator keeps ("a", "bc") and ("ab", "c") apart.
  return hash("sha256", `${stream}\n${source}\n${id}`, "binary");
}

/**
 * One remembered event: nine u32, little endian on the disk. Four of the digest, two of the time it was written
 * (high, low), the partition, two of the offset.
 */
export const entryWords = 9;
export const entryBytes = entryWords * 4;
export const timeWord = 4;
const placeWord = 6;

/** The first 16 bytes of a digest, read into four words. */
export function digestWords(digest: string, into: Uint32Array): void {
  for (let word = 0, at = 0; word < 4; word++, at += 4) {
    into[word] =
      digest.charCodeAt(at) |
      (digest.charCodeAt(at + 1) << 8) |
      (digest.charCodeAt(at + 2) << 16) |
      (digest.charCodeAt(at + 3) << 24);
  }
}

const two32 = 2 ** 32;

export function writeEntry(
  words: Uint32Array,
  at: number,
  digest: Uint32Array,
  timeMs: number,
  place: EventPlace,
): void {
  words[at] = digest[0]!;
  words[at + 1] = digest[1]!;
  words[at + 2] = digest[2]!;
  words[at + 3] = digest[3]!;
  words[at + timeWord] = timeMs / two32;
  words[at + timeWord + 1] = timeMs % two32;
  words[at + placeWord] = place.partition;
  words[at + placeWord + 1] = place.offset / two32;
  words[at + placeWord + 2] = place.offset % two32;
}

export function entryHas(words: Uint32Array, at: number, digest: Uint32Array): boolean {
  return (
    words[at] === digest[0] && words[at + 1] === digest[1] && words[at + 2] === digest[2] && words[at + 3] === digest[3]
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

/** Entries as they are stored. */
export function entriesToBytes(words: Uint32Array, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe((to - from) * entryBytes);
  // Every platform served is little endian.
  bytes.set(new Uint8Array(words.buffer, words.byteOffset + from * entryBytes, bytes.length));
  return bytes;
}

/** Entries as they were stored, in memory that is aligned to words. */
export function entriesFromBytes(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.floor(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes.subarray(0, words.length * 4));
  return words;
}
