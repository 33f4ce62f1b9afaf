import { type Analyzer, analyzerByName } from "../analysis/analyzer.ts";
import { TokenBuffer } from "../analysis/tokens.ts";
import { U32List } from "./growable.ts";
import { blockSize, endOfPostings, impact, PostingsCursor, type PostingsSink } from "./postings.ts";
import type { TermRange, TextIndex } from "./reader.ts";
import { TailTerms } from "./tail-terms.ts";

/** Words between two values of one field, so that no phrase runs from one into the next. */
export const valueGap = 100;

/** A token list holds term ordinals; an entry with this bit set is a gap of that many positions instead. */
const gapBit = 0x80000000;
const none = 0xffffffff;
/** Postings of a term's first, second, … chunk: rare terms stay small, frequent ones get whole blocks. */
const chunkCapacities = [2, 8, 32, blockSize] as const;

/**
 * The text of one field in the tail. Each document keeps its tokens in order (they give positions, the counts to take
 * back on delete, and the input for sealing); each term keeps its postings in a chain of chunks in shared arrays.
 */
export class TailText implements TextIndex {
  readonly #terms = new TailTerms();
  readonly hasPositions: boolean;
  readonly #analyzer: Analyzer;
  readonly #lengths = new U32List();
  liveDocs = 0;
  liveLength = 0;

  readonly #tokens = new U32List();
  readonly #tokenStarts = new U32List();
  readonly #buffer = new TokenBuffer();

  // By term.
  readonly #liveFrequencies = new U32List();
  readonly firstChunks = new U32List();
  readonly #lastChunks = new U32List();
  /** How often the term stands in the document being added or deleted; 0 in between. */
  readonly #counts = new U32List();
  readonly #touched = new U32List();

  // By chunk.
  readonly chunkStarts = new U32List();
  readonly chunkCounts = new U32List();
  readonly #chunkCapacities = new U32List();
  readonly chunkNexts = new U32List();
  readonly chunkMaxFreqs = new U32List();
  readonly chunkMinLengths = new U32List();
  // By posting.
  readonly postingDocs = new U32List();
  readonly postingFreqs = new U32List();

  #inverted: InvertedPositions | undefined;

  constructor(analyzer: string, positions: boolean) {
    this.#analyzer = analyzerByName(analyzer);
    this.hasPositions = positions;
    this.#tokenStarts.push(0);
  }

  get termCount(): number {
    return this.#terms.termCount;
  }

  ordinal(term: string): number {
    return this.#terms.ordinal(term);
  }

  term(ordinal: number): string {
    return this.#terms.term(ordinal);
  }

  ordinalsWithPrefix(prefix: string): number[] {
    return this.#terms.ordinalsWithPrefix(prefix);
  }

  ordinalsInRange(range: TermRange): number[] {
    return this.#terms.ordinalsInRange(range);
  }

  sortedOrdinals(): Uint32Array {
    return this.#terms.sortedOrdinals();
  }

  get lengths(): Uint32Array {
    return this.#lengths.data;
  }

  get bytes(): number {
    return (
      4 * (this.#tokens.length + 2 * this.postingDocs.length + 6 * this.chunkStarts.length) + 2 * this.#terms.units
    );
  }

  /** Adds the next document; documents come in the order of their numbers. */
  add(values: readonly string[]): void {
    const doc = this.#lengths.length;
    const tokens = this.#tokens;
    const from = tokens.length;
    let words = 0;
    let expected = 0;
    let base = 0;
    for (const value of values) {
      this.#buffer.clear();
      const after = this.#analyzer.analyze(value, base, this.#buffer);
      const { terms, positions, count } = this.#buffer;
      for (let i = 0; i < count; i++) {
        const gap = positions[i]! - expected;
        if (gap > 0) tokens.push((gapBit | gap) >>> 0);
        tokens.push(this.#termOf(terms[i]!));
        expected = positions[i]! + 1;
      }
      words += count;
      base = after + valueGap;
    }
    this.#lengths.push(words);
    this.#tokenStarts.push(tokens.length);
    if (values.length > 0) {
      this.liveDocs++;
      this.liveLength += words;
    }
    this.#count(from, tokens.length);
    this.#appendPostings(doc, words);
    this.#inverted = undefined;
  }

  /** Takes a document out of the statistics; its postings stay and are skipped as dead. */
  remove(doc: number, hadValues: boolean): void {
    if (!hadValues) return;
    this.liveDocs--;
    this.liveLength -= this.#lengths.data[doc]!;
    this.#count(this.#tokenStarts.data[doc]!, this.#tokenStarts.data[doc + 1]!);
    for (let i = 0; i < this.#touched.length; i++) {
      const term = this.#touched.data[i]!;
      this.#liveFrequencies.data[term]!--;
      this.#counts.data[term] = 0;
    }
    this.#touched.length = 0;
  }

  #termOf(text: string): number {
    const known = this.termCount;
    const term = this.#terms.add(text);
    if (term === known) {
      this.#liveFrequencies.push(0);
      this.firstChunks.push(none);
      this.#lastChunks.push(none);
      this.#counts.push(0);
    }
    return term;
  }

  /** Counts each distinct term of a stretch of tokens, and lists them in `touched`. */
  #count(from: number, to: number): void {
    const tokens = this.#tokens.data;
    const counts = this.#counts.data;
    for (let i = from; i < to; i++) {
      const term = tokens[i]!;
      if (term >= gapBit) continue;
      if (counts[term]!++ === 0) this.#touched.push(term);
    }
  }

  #appendPostings(doc: number, length: number): void {
    for (let i = 0; i < this.#touched.length; i++) {
      const term = this.#touched.data[i]!;
      const freq = this.#counts.data[term]!;
      this.#counts.data[term] = 0;
      this.#liveFrequencies.data[term]!++;
      const chunk = this.#roomyChunk(term);
      const at = this.chunkStarts.data[chunk]! + this.chunkCounts.data[chunk]!++;
      this.postingDocs.data[at] = doc;
      this.postingFreqs.data[at] = freq;
      if (freq > this.chunkMaxFreqs.data[chunk]!) this.chunkMaxFreqs.data[chunk] = freq;
      if (length < this.chunkMinLengths.data[chunk]!) this.chunkMinLengths.data[chunk] = length;
    }
    this.#touched.length = 0;
  }

  #roomyChunk(term: number): number {
    const last = this.#lastChunks.data[term]!;
    if (last !== none && this.chunkCounts.data[last]! < this.#chunkCapacities.data[last]!) return last;
    const before = last === none ? 0 : this.#chunkCapacities.data[last]!;
    const capacity = chunkCapacities.find((size) => size > before) ?? blockSize;
    const chunk = this.chunkStarts.length;
    this.chunkStarts.push(this.postingDocs.length);
    this.chunkCounts.push(0);
    this.#chunkCapacities.push(capacity);
    this.chunkNexts.push(none);
    this.chunkMaxFreqs.push(0);
    this.chunkMinLengths.push(none);
    this.postingDocs.reserve(capacity);
    this.postingDocs.length += capacity;
    this.postingFreqs.reserve(capacity);
    this.postingFreqs.length += capacity;
    if (last === none) this.firstChunks.data[term] = chunk;
    else this.chunkNexts.data[last] = chunk;
    this.#lastChunks.data[term] = chunk;
    return chunk;
  }

  liveFrequency(term: number): number {
    return this.#liveFrequencies.data[term]!;
  }

  cursor(term: number): PostingsCursor {
    return new TailCursor(this, term);
  }

  /** The positions of a term in a document, by walking its tokens. */
  positionsIn(doc: number, term: number, out: U32List): void {
    const tokens = this.#tokens.data;
    const to = this.#tokenStarts.data[doc + 1]!;
    let position = 0;
    for (let i = this.#tokenStarts.data[doc]!; i < to; i++) {
      const token = tokens[i]!;
      if (token >= gapBit) {
        position += token - gapBit;
        continue;
      }
      if (token === term) out.push(position);
      position++;
    }
  }

  drain(term: number, sink: PostingsSink): void {
    for (let chunk = this.firstChunks.data[term]!; chunk !== none; chunk = this.chunkNexts.data[chunk]!) {
      const from = this.chunkStarts.data[chunk]!;
      for (let i = from; i < from + this.chunkCounts.data[chunk]!; i++) {
        sink.docs.push(this.postingDocs.data[i]!);
        sink.freqs.push(this.postingFreqs.data[i]!);
      }
    }
    if (!this.hasPositions) return;
    this.#inverted ??= this.#invert();
    const { starts, positions } = this.#inverted;
    const to = starts[term + 1]!;
    for (let i = starts[term]!; i < to; i++) sink.positions.push(positions[i]!);
  }

  /** Sorts all positions by term (by counting), so that sealing costs one pass and not one per posting. */
  #invert(): InvertedPositions {
    const tokens = this.#tokens.view();
    const starts = new Uint32Array(this.termCount + 1);
    for (let i = 0; i < tokens.length; i++) if (tokens[i]! < gapBit) starts[tokens[i]! + 1]!++;
    for (let term = 0; term < this.termCount; term++) starts[term + 1]! += starts[term]!;
    const next = starts.slice();
    const positions = new Uint32Array(starts[this.termCount]!);
    for (let doc = 0; doc < this.#lengths.length; doc++) {
      let position = 0;
      for (let i = this.#tokenStarts.data[doc]!; i < this.#tokenStarts.data[doc + 1]!; i++) {
        const token = tokens[i]!;
        if (token >= gapBit) position += token - gapBit;
        else positions[next[token]!++] = position++;
      }
    }
    return { starts, positions };
  }
}

interface InvertedPositions {
  readonly starts: Uint32Array;
  readonly positions: Uint32Array;
}

class TailCursor extends PostingsCursor {
  readonly #text: TailText;
  readonly #term: number;
  #next: number;
  /** The first chunk that reaches the start of the last asked stretch. */
  #shallow: number;

  constructor(text: TailText, term: number) {
    super();
    this.#text = text;
    this.#term = term;
    this.#next = text.firstChunks.data[term]!;
    this.#shallow = this.#next;
  }

  protected loadNext(): boolean {
    if (this.#next === none) return false;
    this.#load(this.#next);
    return true;
  }

  protected loadReaching(target: number): boolean {
    const text = this.#text;
    while (this.#next !== none) {
      const last = text.chunkStarts.data[this.#next]! + text.chunkCounts.data[this.#next]! - 1;
      if (text.postingDocs.data[last]! >= target) {
        this.#load(this.#next);
        return true;
      }
      this.#next = text.chunkNexts.data[this.#next]!;
    }
    return false;
  }

  #load(chunk: number): void {
    const text = this.#text;
    const from = text.chunkStarts.data[chunk]!;
    this.count = text.chunkCounts.data[chunk]!;
    for (let i = 0; i < this.count; i++) {
      this.docs[i] = text.postingDocs.data[from + i]!;
      this.freqs[i] = text.postingFreqs.data[from + i]!;
    }
    this.#next = text.chunkNexts.data[chunk]!;
  }

  boundOver(start: number, end: number, weight: number, base: number, slope: number): number {
    const text = this.#text;
    while (this.#shallow !== none) {
      const last = text.chunkStarts.data[this.#shallow]! + text.chunkCounts.data[this.#shallow]! - 1;
      if (text.postingDocs.data[last]! >= start) break;
      this.#shallow = text.chunkNexts.data[this.#shallow]!;
    }
    let best = 0;
    for (let chunk = this.#shallow; chunk !== none; chunk = text.chunkNexts.data[chunk]!) {
      if (text.postingDocs.data[text.chunkStarts.data[chunk]!]! >= end) break;
      const bound = impact(weight, text.chunkMaxFreqs.data[chunk]!, text.chunkMinLengths.data[chunk]!, base, slope);
      if (bound > best) best = bound;
    }
    return best;
  }

  positions(out: U32List): void {
    out.length = 0;
    if (this.doc !== endOfPostings) this.#text.positionsIn(this.doc, this.#term, out);
  }
}
