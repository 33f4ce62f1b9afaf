import type { Steps } from "../../turns.ts";
import { digestWordCount, entryWords } from "./entry.ts";
import type { EntryTable } from "./entry-table.ts";

/** A quarter of a millisecond. */
const entriesPerStep = 16_384;

/**
 * One word tells of nearly all events that no segment of several has them: each event sets three bits of its word. A look at the
 * segments' filters would wait for memory at each of its probes, and again for each group of them.
 */
export class Sieve {
  readonly #words: Int32Array;

  /** `words` is a power of two: with a word for four events, one event in thirty passes that is not there. */
  constructor(words: number) {
    this.#words = new Int32Array(words);
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  *addSteps({ words: entries, count }: EntryTable): Steps<void> {
    const words = this.#words;
    const mask = words.length - 1;
    for (let entry = 0, at = 0; entry < count; entry++, at += entryWords) {
      if (entry % entriesPerStep === 0 && entry > 0) yield;
      words[entries[at + 3]! & mask]! |= threeBits(entries[at + 2]!);
    }
  }

  /** Puts the numbers of those of the first `count` digests that pass into `candidates`, and returns how many. */
  candidatesOf(digests: Uint32Array, count: number, candidates: Uint32Array): number {
    const words = this.#words;
    const mask = words.length - 1;
    let found = 0;
    for (let i = 0, at = 0; i < count; i++, at += digestWordCount) {
      const missing = threeBits(digests[at + 2]!) & ~words[digests[at + 3]! & mask]!;
      candidates[found] = i;
      // One more where nothing is missing. A branch would be mispredicted for each of those, and the loads after it start late.
      found += ((missing | -missing) >>> 31) ^ 1;
    }
    return found;
  }
}

/** The bits that an event sets in its word. */
function threeBits(third: number): number {
  return (1 << third) | (1 << (third >>> 5)) | (1 << (third >>> 10));
}
