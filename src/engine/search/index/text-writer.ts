import { U8List, U16List, U32List } from "./growable.ts";
import { blockSize } from "./postings.ts";
import type { SectionWriter } from "./segment-format.ts";

/** Sorted terms as their UTF-8 bytes, one after the other. */
export class DictionaryWriter {
  readonly #bytes = new U8List();
  readonly #ends = new U32List();

  constructor() {
    this.#ends.push(0);
  }

  push(term: string): void {
    this.#bytes.append(Buffer.from(term));
    this.#ends.push(this.#bytes.length);
  }

  finish(prefix: string, out: SectionWriter): void {
    out.add(`${prefix}.termBytes`, this.#bytes.view());
    out.add(`${prefix}.termEnds`, this.#ends.view());
  }
}

/** How a block's numbers are kept: in the narrowest of three pools. Frequencies that are all 1 are not kept. */
export const width8 = 0;
export const width16 = 1;
export const width32 = 2;
export const widthNone = 3;
export const freqShift = 2;

/**
 * Postings in blocks of 128. A block keeps its documents relative to its first one in the narrowest of 8, 16 and 32
 * bits: 2 to 3 bytes a posting on natural text, decoded by one addition each.
 */
export class PostingsWriter {
  readonly #lengths: Uint32Array;
  readonly #keepPositions: boolean;
  readonly #frequencies = new U32List();
  readonly #termBlocks = new U32List();
  readonly #firsts = new U32List();
  readonly #lasts = new U32List();
  readonly #docAts = new U32List();
  readonly #freqAts = new U32List();
  readonly #positionAts = new U32List();
  readonly #shapes = new U8List();
  readonly #maxFreqs = new U32List();
  readonly #minLengths = new U32List();
  readonly #pool8 = new U8List();
  readonly #pool16 = new U16List();
  readonly #pool32 = new U32List();
  readonly #positions = new U8List();

  constructor(lengths: Uint32Array, keepPositions: boolean) {
    this.#lengths = lengths;
    this.#keepPositions = keepPositions;
    this.#termBlocks.push(0);
  }

  /**
   * Adds the next term. `docs` ascends; document i has `freqs[i]` positions from `positionStarts[i]` on.
   */
  pushTerm(
    docs: Uint32Array,
    freqs: Uint32Array,
    positions: Uint32Array,
    positionStarts: Uint32Array,
    count: number,
  ): void {
    this.#frequencies.push(count);
    for (let from = 0; from < count; from += blockSize) {
      const to = Math.min(count, from + blockSize);
      this.#pushBlock(docs, freqs, from, to);
      if (!this.#keepPositions) continue;
      this.#positionAts.push(this.#positions.length);
      for (let i = from; i < to; i++) {
        let before = 0;
        const start = positionStarts[i]!;
        for (let p = start; p < start + freqs[i]!; p++) {
          this.#positions.pushVarint(positions[p]! - before);
          before = positions[p]!;
        }
      }
    }
    this.#termBlocks.push(this.#firsts.length);
  }

  #pushBlock(docs: Uint32Array, freqs: Uint32Array, from: number, to: number): void {
    const first = docs[from]!;
    const last = docs[to - 1]!;
    let maxFreq = 0;
    let minLength = 0xffffffff;
    for (let i = from; i < to; i++) {
      if (freqs[i]! > maxFreq) maxFreq = freqs[i]!;
      const length = this.#lengths[docs[i]!]!;
      if (length < minLength) minLength = length;
    }
    const docWidth = narrowest(last - first);
    const freqWidth = maxFreq === 1 ? widthNone : narrowest(maxFreq);
    this.#firsts.push(first);
    this.#lasts.push(last);
    this.#shapes.push(docWidth | (freqWidth << freqShift));
    this.#maxFreqs.push(maxFreq);
    this.#minLengths.push(minLength);
    this.#docAts.push(this.#poolOf(docWidth).length);
    for (let i = from; i < to; i++) this.#poolOf(docWidth).push(docs[i]! - first);
    if (freqWidth === widthNone) {
      this.#freqAts.push(0);
      return;
    }
    this.#freqAts.push(this.#poolOf(freqWidth).length);
    for (let i = from; i < to; i++) this.#poolOf(freqWidth).push(freqs[i]!);
  }

  #poolOf(width: number): U8List | U16List | U32List {
    return width === width8 ? this.#pool8 : width === width16 ? this.#pool16 : this.#pool32;
  }

  finish(prefix: string, out: SectionWriter): void {
    out.add(`${prefix}.frequencies`, this.#frequencies.view());
    out.add(`${prefix}.termBlocks`, this.#termBlocks.view());
    out.add(`${prefix}.blockFirsts`, this.#firsts.view());
    out.add(`${prefix}.blockLasts`, this.#lasts.view());
    out.add(`${prefix}.blockDocAts`, this.#docAts.view());
    out.add(`${prefix}.blockFreqAts`, this.#freqAts.view());
    out.add(`${prefix}.blockShapes`, this.#shapes.view());
    out.add(`${prefix}.blockMaxFreqs`, this.#maxFreqs.view());
    out.add(`${prefix}.blockMinLengths`, this.#minLengths.view());
    out.add(`${prefix}.pool8`, this.#pool8.view());
    out.add(`${prefix}.pool16`, this.#pool16.view());
    out.add(`${prefix}.pool32`, this.#pool32.view());
    out.add(`${prefix}.lengths`, this.#lengths);
    if (!this.#keepPositions) return;
    out.add(`${prefix}.blockPositionAts`, this.#positionAts.view());
    out.add(`${prefix}.positions`, this.#positions.view());
  }
}

function narrowest(value: number): number {
  return value <= 0xff ? width8 : value <= 0xffff ? width16 : width32;
}
