import type { Steps } from "../../turns.ts";
import { digestWordCount, entryWords } from "./entry.ts";
import type { EntryTable } from "./entry-table.ts";

const eventsPerWordMax = 5;
/** A quarter of a millisecond. */
const entriesPerStep = 16_384;

/**
 * One word tells of nearly all events that no segment of several has them: each event sets three bits of its word. A look at the
 * segments' filters would wait for memory at each of its probes, and again for each group of them.
 */
export class Sieve {
  readonly #words: Int32Array;
  #added = 0;
  /** Set so that loads are not left out as useless. */
  touched = 0;

  /** `words` is a power of two: with a word for four events, one event in thirty passes that is not there. */
  constructor(words: number) {
    this.#words = new Int32Array(words);
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  /** What was looked for and then refused is in it too: beyond this it should take no more that may not be there. */
  get isFull(): boolean {
    return this.#added > eventsPerWordMax * this.#words.length;
  }

  *addSteps({ words: entries, count }: EntryTable): Steps<void> {
    const words = this.#words;
    const mask = words.length - 1;
    for (let entry = 0, at = 0; entry < count; entry++, at += entryWords) {
      if (entry % entriesPerStep === 0 && entry > 0) yield;
      words[entries[at + 3]! & mask]! |= threeBits(entries[at + 2]!);
    }
  }

  /**
   * Puts the numbers of those of the first `count` digests that pass into `candidates`, and returns how many. With `isAdding` all
   * of them are in from then on: their words are in the processor's cache now, where each would be fetched again later.
   */
  candidatesOf(digests: Uint32Array, count: number, candidates: Uint32Array, isAdding: boolean): number {
    const words = this.#words;
    const mask = words.length - 1;
    const added = isAdding ? -1 : 0;
    // No load waits for another here.
    let read = 0;
    for (let at = 3; at < count * digestWordCount; at += digestWordCount) read ^= words[digests[at]! & mask]!;
    this.touched = read;
    let found = 0;
    for (let i = 0, at = 0; i < count; i++, at += digestWordCount) {
      const place = digests[at + 3]! & mask;
      const word = words[place]!;
      const bits = threeBits(digests[at + 2]!);
      const missing = bits & ~word;
      words[place] = word | (bits & added);
      candidates[found] = i;
      // One more where nothing is missing. A branch would be mispredicted for each of those, and the loads after it start late.
      found += ((missing | -missing) >>> 31) ^ 1;
    }
    if (isAdding) this.#added += count - found;
    return found;
  }
}

/** The bits that an event sets in its word. */
function threeBits(third: number): number {
  return (1 << third) | (1 << (third >>> 5)) | (1 << (third >>> 10));
}
