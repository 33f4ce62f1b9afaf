import type { U32List } from "./growable.ts";

export const blockSize = 128;
/** Past every document number; a small integer, so that the cursors' fields stay unboxed. */
export const endOfPostings = 0x7fffffff;

/** Making these arrays took a tenth of a short query, so that a few are kept. */
const spareBlocks: Uint32Array[] = [];
const spareBlocksMax = 128;

/** The postings of all terms of a field as a segment stores them. */
export interface StoredBlocks {
  readonly lengths: Uint32Array;
  readonly blockFirsts: Uint32Array;
  readonly blockLasts: Uint32Array;
  readonly blockDocAts: Uint32Array;
  readonly blockFreqAts: Uint32Array;
  readonly blockShapes: Uint8Array;
  readonly blockMaxFreqs: Uint32Array;
  readonly blockMinLengths: Uint32Array;
  readonly pool8: Uint8Array;
  readonly pool16: Uint16Array;
  readonly pool32: Uint32Array;
}

/** Those of one term. */
export interface StoredPostings {
  readonly text: StoredBlocks;
  readonly firstBlock: number;
  readonly lastBlock: number;
  readonly frequency: number;
}

/**
 * Walks the postings of one term in document order, a block at a time: the block's documents and frequencies are
 * plain arrays that the scorer's loops read directly. Only loading a block differs between tail and segments.
 */
export abstract class PostingsCursor {
  readonly docs: Uint32Array;
  readonly freqs: Uint32Array;
  /** Postings in the loaded block, and the place within it. */
  count = 0;
  at = 0;
  /** The current document, or `endOfPostings`. */
  doc = -1;
  /** Of a term in a segment. */
  readonly stored: StoredPostings | undefined;

  constructor(stored?: StoredPostings) {
    this.stored = stored;
    this.docs = spareBlocks.pop() ?? new Uint32Array(blockSize);
    this.freqs = spareBlocks.pop() ?? new Uint32Array(blockSize);
  }

  /** Gives the cursor's arrays back, for those who make many cursors; it must not be used after that. */
  release(): void {
    if (spareBlocks.length < spareBlocksMax) spareBlocks.push(this.docs, this.freqs);
  }

  /** Loads the block after the loaded one; false at the end. */
  protected abstract loadNext(): boolean;

  /** Loads the first block, at or after the loaded one, whose last document reaches `target`; false if there is none. */
  protected abstract loadReaching(target: number): boolean;

  /**
   * No posting from document `start` to below `end` has a higher impact, at weight · tf / (tf + base + slope · length).
   * Reads the blocks' limits only and loads nothing. `start` must not go back from call to call.
   */
  abstract boundOver(start: number, end: number, weight: number, base: number, slope: number): number;

  /**
   * How often the term stands in a document, 0 if it does not. Looks the posting up where it is stored: the cursor does
   * not move and no block is loaded. `doc` must not go back from call to call.
   */
  abstract freqIn(doc: number): number;

  /** The word positions of the current document, ascending, into `out`. */
  abstract positions(out: U32List): void;

  next(): number {
    if (++this.at < this.count) {
      this.doc = this.docs[this.at]!;
    } else if (this.doc !== endOfPostings && this.loadNext()) {
      this.at = 0;
      this.doc = this.docs[0]!;
    } else {
      this.doc = endOfPostings;
    }
    return this.doc;
  }

  /** Moves to the first document at or after `target`. Never moves back. */
  advance(target: number): number {
    if (this.doc >= target) return this.doc;
    if (this.count === 0 || this.docs[this.count - 1]! < target) {
      if (!this.loadReaching(target)) {
        this.count = 0;
        this.doc = endOfPostings;
        return this.doc;
      }
      this.at = 0;
    }
    const docs = this.docs;
    let low = this.at;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (docs[middle]! < target) low = middle + 1;
      else high = middle;
    }
    this.at = low;
    this.doc = docs[low]!;
    return this.doc;
  }

  get freq(): number {
    return this.freqs[this.at]!;
  }
}

/** All postings of one term, for merging: `positions` holds each document's, one after the other. */
export interface PostingsSink {
  readonly docs: U32List;
  readonly freqs: U32List;
  readonly positions: U32List;
}

/**
 * A posting's share of a score, rounded to a multiple of 2^-32: sums of such numbers are exact, so a document's score
 * does not depend on the order in which its terms are added, which differs from layout to layout.
 */
const rounding = 1.5 * 2 ** 20;

export function impact(weight: number, freq: number, length: number, base: number, slope: number): number {
  return (weight * freq) / (freq + base + slope * length) + rounding - rounding;
}

/** The first place from `from` on, below `to`, that reaches `value`, in steps that double and then halve; else `to`. */
export function firstReaching(values: ArrayLike<number>, value: number, from: number, to: number): number {
  let low = from;
  let high = from;
  for (let step = 1; high < to && values[high]! < value; step *= 2) {
    low = high + 1;
    high += step;
  }
  if (high > to) high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
