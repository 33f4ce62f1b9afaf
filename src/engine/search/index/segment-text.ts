import { LruMap } from "../../../port/lru-map.ts";
import { searchLimits } from "../limits.ts";
import type { Deletes } from "./deletes.ts";
import type { U32List } from "./growable.ts";
import { blockSize, endOfPostings, firstReaching, impact, PostingsCursor, type PostingsSink } from "./postings.ts";
import type { TextIndex } from "./reader.ts";
import type { SectionReader } from "./segment-format.ts";
import { SegmentTerms } from "./segment-terms.ts";
import { freqShift, width8, width16, widthNone } from "./text-writer.ts";

/** The stored arrays of one text field; see PostingsWriter. */
export class StoredText extends SegmentTerms {
  readonly lengths: Uint32Array;
  readonly hasPositions: boolean;
  readonly frequencies: Uint32Array;
  readonly termBlocks: Uint32Array;
  readonly blockFirsts: Uint32Array;
  readonly blockLasts: Uint32Array;
  readonly blockDocAts: Uint32Array;
  readonly blockFreqAts: Uint32Array;
  readonly blockPositionAts: Uint32Array;
  readonly blockShapes: Uint8Array;
  readonly blockMaxFreqs: Uint32Array;
  readonly blockMinLengths: Uint32Array;
  readonly pool8: Uint8Array;
  readonly pool16: Uint16Array;
  readonly pool32: Uint32Array;
  readonly positions: Uint8Array;

  constructor(sections: SectionReader, prefix: string) {
    super(sections, prefix);
    this.lengths = sections.u32(`${prefix}.lengths`);
    this.frequencies = sections.u32(`${prefix}.frequencies`);
    this.termBlocks = sections.u32(`${prefix}.termBlocks`);
    this.blockFirsts = sections.u32(`${prefix}.blockFirsts`);
    this.blockLasts = sections.u32(`${prefix}.blockLasts`);
    this.blockDocAts = sections.u32(`${prefix}.blockDocAts`);
    this.blockFreqAts = sections.u32(`${prefix}.blockFreqAts`);
    this.blockShapes = sections.u8(`${prefix}.blockShapes`);
    this.blockMaxFreqs = sections.u32(`${prefix}.blockMaxFreqs`);
    this.blockMinLengths = sections.u32(`${prefix}.blockMinLengths`);
    this.pool8 = sections.u8(`${prefix}.pool8`);
    this.pool16 = sections.u16(`${prefix}.pool16`);
    this.pool32 = sections.u32(`${prefix}.pool32`);
    this.hasPositions = sections.has(`${prefix}.positions`);
    this.blockPositionAts = this.hasPositions ? sections.u32(`${prefix}.blockPositionAts`) : new Uint32Array(0);
    this.positions = this.hasPositions ? sections.u8(`${prefix}.positions`) : new Uint8Array(0);
  }
}

interface DeadCount {
  /** Deletes counted so far, and how many of them hold the term. */
  upTo: number;
  dead: number;
}

/** The text of one field in a segment, without its deleted documents in the statistics. */
export class SegmentText implements TextIndex {
  readonly stored: StoredText;
  readonly #deletes: Deletes;
  readonly #presentCount: number;
  readonly #isPresent: (doc: number) => boolean;
  readonly #totalLength: number;
  readonly #deadCounts = new LruMap<number, DeadCount>(searchLimits.deadCountCacheEntriesMax);
  #deadUpTo = 0;
  #deadDocs = 0;
  #deadLength = 0;

  constructor(stored: StoredText, deletes: Deletes, presentCount: number, isPresent: (doc: number) => boolean) {
    this.stored = stored;
    this.#deletes = deletes;
    this.#presentCount = presentCount;
    this.#isPresent = isPresent;
    let total = 0;
    for (let doc = 0; doc < stored.lengths.length; doc++) total += stored.lengths[doc]!;
    this.#totalLength = total;
  }

  get termCount(): number {
    return this.stored.termCount;
  }

  get lengths(): Uint32Array {
    return this.stored.lengths;
  }

  get hasPositions(): boolean {
    return this.stored.hasPositions;
  }

  ordinal(term: string): number {
    return this.stored.ordinal(term);
  }

  term(ordinal: number): string {
    return this.stored.term(ordinal);
  }

  ordinalsWithPrefix(prefix: string): number[] {
    return this.stored.ordinalsWithPrefix(prefix);
  }

  ordinalsInRange(range: Parameters<SegmentTerms["ordinalsInRange"]>[0]): number[] {
    return this.stored.ordinalsInRange(range);
  }

  sortedOrdinals(): Uint32Array {
    return this.stored.sortedOrdinals();
  }

  get liveDocs(): number {
    this.#countDead();
    return this.#presentCount - this.#deadDocs;
  }

  get liveLength(): number {
    this.#countDead();
    return this.#totalLength - this.#deadLength;
  }

  #countDead(): void {
    for (; this.#deadUpTo < this.#deletes.count; this.#deadUpTo++) {
      const doc = this.#deletes.at(this.#deadUpTo);
      if (!this.#isPresent(doc)) continue;
      this.#deadDocs++;
      this.#deadLength += this.stored.lengths[doc]!;
    }
  }

  liveFrequency(ordinal: number): number {
    const total = this.stored.frequencies[ordinal]!;
    return this.#deletes.count === 0 ? total : total - this.#deadFrequency(ordinal, total);
  }

  /** Counts the dead documents of a term once, and after that only the newly dead ones. */
  #deadFrequency(ordinal: number, total: number): number {
    const deletes = this.#deletes;
    let known = this.#deadCounts.get(ordinal);
    if (known === undefined) {
      known = { upTo: 0, dead: 0 };
      this.#deadCounts.set(ordinal, known);
    }
    if (known.upTo === deletes.count) return known.dead;
    if (known.upTo === 0 && total < deletes.count * 8) {
      const cursor = this.cursor(ordinal);
      while (cursor.next() !== endOfPostings) if (deletes.has(cursor.doc)) known.dead++;
    } else {
      const fresh = new Uint32Array(deletes.count - known.upTo);
      for (let i = 0; i < fresh.length; i++) fresh[i] = deletes.at(known.upTo + i);
      const cursor = this.cursor(ordinal);
      for (const doc of fresh.sort()) if (cursor.advance(doc) === doc) known.dead++;
    }
    known.upTo = deletes.count;
    return known.dead;
  }

  cursor(ordinal: number): PostingsCursor {
    return new SegmentCursor(this.stored, ordinal);
  }

  drain(ordinal: number, sink: PostingsSink): void {
    const cursor = new SegmentCursor(this.stored, ordinal);
    while (cursor.next() !== endOfPostings) {
      sink.docs.push(cursor.doc);
      sink.freqs.push(cursor.freq);
      if (this.hasPositions) cursor.appendPositions(sink.positions);
    }
  }
}

class SegmentCursor extends PostingsCursor {
  readonly #text: StoredText;
  readonly #lastBlock: number;
  readonly #frequency: number;
  readonly #firstBlock: number;
  #block: number;
  #shallow: number;
  /** The block of the last posting that was looked up. */
  #lookup: number;
  #lookupPlace = 0;
  /** Posting within the block whose positions start at `#positionByte`; -1 when none is known. */
  #positionAt = -1;
  #positionByte = 0;

  constructor(text: StoredText, ordinal: number) {
    const frequency = text.frequencies[ordinal]!;
    const firstBlock = text.termBlocks[ordinal]!;
    const lastBlock = text.termBlocks[ordinal + 1]! - 1;
    super({ text, firstBlock, lastBlock, frequency });
    this.#text = text;
    this.#frequency = frequency;
    this.#firstBlock = firstBlock;
    this.#lastBlock = lastBlock;
    this.#block = this.#firstBlock - 1;
    this.#shallow = this.#firstBlock;
    this.#lookup = this.#firstBlock;
  }

  protected loadNext(): boolean {
    if (this.#block >= this.#lastBlock) return false;
    this.#load(this.#block + 1);
    return true;
  }

  protected loadReaching(target: number): boolean {
    const block = this.#blockReaching(this.#block + 1, target);
    if (block > this.#lastBlock) {
      this.#block = this.#lastBlock;
      return false;
    }
    this.#load(block);
    return true;
  }

  /** The first block from `from` on whose last document is at least `target`, in steps that double and then halve. */
  #blockReaching(from: number, target: number): number {
    const lasts = this.#text.blockLasts;
    if (from > this.#lastBlock || lasts[from]! >= target) return from;
    let low = from;
    let step = 1;
    while (low + step <= this.#lastBlock && lasts[low + step]! < target) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step, this.#lastBlock + 1);
    while (low + 1 < high) {
      const middle = (low + high) >>> 1;
      if (lasts[middle]! < target) low = middle;
      else high = middle;
    }
    return high;
  }

  // Three plain loops instead of one with a choice inside: each reads one kind of array.
  #load(block: number): void {
    const text = this.#text;
    const { docs, freqs } = this;
    const before = (block - this.#firstBlock) * blockSize;
    const count = Math.min(blockSize, this.#frequency - before);
    const first = text.blockFirsts[block]!;
    const shape = text.blockShapes[block]!;
    const docAt = text.blockDocAts[block]!;
    const docWidth = shape & 3;
    if (docWidth === width8) for (let i = 0; i < count; i++) docs[i] = first + text.pool8[docAt + i]!;
    else if (docWidth === width16) for (let i = 0; i < count; i++) docs[i] = first + text.pool16[docAt + i]!;
    else for (let i = 0; i < count; i++) docs[i] = first + text.pool32[docAt + i]!;
    const freqAt = text.blockFreqAts[block]!;
    const freqWidth = shape >> freqShift;
    if (freqWidth === widthNone) freqs.fill(1);
    else if (freqWidth === width8) for (let i = 0; i < count; i++) freqs[i] = text.pool8[freqAt + i]!;
    else if (freqWidth === width16) for (let i = 0; i < count; i++) freqs[i] = text.pool16[freqAt + i]!;
    else for (let i = 0; i < count; i++) freqs[i] = text.pool32[freqAt + i]!;
    this.count = count;
    this.#block = block;
    this.#positionAt = -1;
  }

  boundOver(start: number, end: number, weight: number, base: number, slope: number): number {
    const text = this.#text;
    this.#shallow = this.#blockReaching(this.#shallow, start);
    let best = 0;
    for (let block = this.#shallow; block <= this.#lastBlock && text.blockFirsts[block]! < end; block++) {
      const bound = impact(weight, text.blockMaxFreqs[block]!, text.blockMinLengths[block]!, base, slope);
      if (bound > best) best = bound;
    }
    return best;
  }

  // Searches the packed numbers themselves: a candidate costs seven comparisons and not a block to unpack.
  freqIn(doc: number): number {
    const text = this.#text;
    const block = this.#blockReaching(this.#lookup, doc);
    if (block !== this.#lookup) {
      this.#lookup = block;
      this.#lookupPlace = 0;
    }
    if (block > this.#lastBlock) return 0;
    const wanted = doc - text.blockFirsts[block]!;
    if (wanted < 0) return 0;
    const shape = text.blockShapes[block]!;
    const docAt = text.blockDocAts[block]!;
    const from = docAt + this.#lookupPlace;
    const to = docAt + Math.min(blockSize, this.#frequency - (block - this.#firstBlock) * blockSize);
    const docWidth = shape & 3;
    // The block's last document is not below, so that there is a place at or after it.
    let place: number;
    if (docWidth === width8) place = firstReaching(text.pool8, wanted, from, to);
    else if (docWidth === width16) place = firstReaching(text.pool16, wanted, from, to);
    else place = firstReaching(text.pool32, wanted, from, to);
    this.#lookupPlace = place - docAt;
    const found =
      docWidth === width8 ? text.pool8[place] : docWidth === width16 ? text.pool16[place] : text.pool32[place];
    if (found !== wanted) return 0;
    const freqAt = text.blockFreqAts[block]! + place - docAt;
    const freqWidth = shape >> freqShift;
    if (freqWidth === widthNone) return 1;
    if (freqWidth === width8) return text.pool8[freqAt]!;
    return freqWidth === width16 ? text.pool16[freqAt]! : text.pool32[freqAt]!;
  }

  positions(out: U32List): void {
    out.length = 0;
    if (this.doc !== endOfPostings && this.#text.hasPositions) this.appendPositions(out);
  }

  appendPositions(out: U32List): void {
    const bytes = this.#text.positions;
    if (this.#positionAt === -1) {
      this.#positionAt = 0;
      this.#positionByte = this.#text.blockPositionAts[this.#block]!;
    }
    let byte = this.#positionByte;
    for (; this.#positionAt < this.at; this.#positionAt++) {
      for (let skip = this.freqs[this.#positionAt]!; skip > 0; byte++) if (bytes[byte]! < 0x80) skip--;
    }
    this.#positionByte = byte;
    let position = 0;
    for (let i = this.freqs[this.at]!; i > 0; i--) {
      let delta = 0;
      let shift = 0;
      while (bytes[byte]! >= 0x80) {
        delta |= (bytes[byte++]! & 0x7f) << shift;
        shift += 7;
      }
      position += delta | (bytes[byte++]! << shift);
      out.push(position);
    }
  }
}
