import { type Analyzer, analyzerByName } from "../../schema/analysis/analyzer.ts";
import { asciiWords } from "../../schema/analysis/tokenize.ts";
import { TokenBuffer, WordBuffer } from "../../schema/analysis/tokens.ts";
import { U32List } from "./growable.ts";
import { blockSize, type PostingsCursor, type PostingsSink } from "./postings.ts";
import type { TermRange, TextIndex } from "./reader.ts";
import { chunkRow, none, TailCursor, termRow } from "./tail-cursor.ts";
import { TailTerms } from "./tail-terms.ts";

/** Words between two values of one field, so that no phrase runs from one into the next. */
export const valueGap = 100;

/** A token list holds term ordinals; an entry with this bit set is a gap of that many positions instead. */
const gapBit = 0x80000000;

/** One each for the thread: nothing stays in them from text to text. */
const wordBuffer = new WordBuffer();
const tokenBuffer = new TokenBuffer();

/** Postings of a term's first chunk, and how much larger the next ones are up to a whole block: rare terms stay small. */
const chunkCapacityMin = 2;
const chunkGrowth = 4;

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
  /** Where terms are not the words themselves: the words that were met, and the term of each. */
  readonly #words: TailTerms | undefined;
  readonly #wordTerms = new U32List();

  /** By term, see `termRow`. What belongs together lies together: a document touches as many places as it has terms. */
  readonly termRows = new U32List();
  readonly #touched = new U32List();
  /** By chunk, see `chunkRow`. */
  readonly chunkRows = new U32List();
  // By posting.
  readonly postingDocs = new U32List();
  readonly postingFreqs = new U32List();

  /** Words of the document that is being added, and the position that the next one has if nothing is left out. */
  #length = 0;
  #expected = 0;
  #inverted: InvertedPositions | undefined;

  constructor(analyzer: string, positions: boolean) {
    this.#analyzer = analyzerByName(analyzer);
    this.#words = this.#analyzer.termOf === undefined || analyzer === "standard" ? undefined : new TailTerms();
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
      4 * (this.#tokens.length + 2 * this.postingDocs.length + this.chunkRows.length) +
      2 * (this.#terms.units + (this.#words?.units ?? 0))
    );
  }

  /** Adds the next document; documents come in the order of their numbers. */
  add(values: readonly string[]): void {
    const doc = this.#lengths.length;
    const from = this.#tokens.length;
    this.#length = 0;
    this.#expected = 0;
    let base = 0;
    for (const value of values) base = this.#addValue(value, base) + valueGap;
    const length = this.#length;
    this.#lengths.push(length);
    this.#tokenStarts.push(this.#tokens.length);
    if (values.length > 0) {
      this.liveDocs++;
      this.liveLength += length;
    }
    this.#count(from, this.#tokens.length);
    this.#appendPostings(doc, length);
    this.#inverted = undefined;
  }

  /** Returns the position after the value's last word. */
  #addValue(value: string, base: number): number {
    if (this.#analyzer.termOf !== undefined && asciiWords(value, wordBuffer)) {
      const { count } = wordBuffer;
      for (let i = 0; i < count; i++) {
        const term = this.#words === undefined ? this.#terms.addWord(wordBuffer, i) : this.#termOfWord(this.#words, i);
        if (term !== none) this.#addToken(term, base + i);
      }
      return base + count;
    }
    tokenBuffer.clear();
    const after = this.#analyzer.analyze(value, base, tokenBuffer);
    const { terms, positions, count } = tokenBuffer;
    for (let i = 0; i < count; i++) this.#addToken(this.#terms.add(terms[i]!), positions[i]!);
    return after;
  }

  /** The term of a word, which is worked out when the word is met first; `none` for one that is left out. */
  #termOfWord(words: TailTerms, i: number): number {
    const met = words.termCount;
    const word = words.addWord(wordBuffer, i);
    if (word === met) {
      const term = this.#analyzer.termOf!(words.term(word));
      this.#wordTerms.push(term === undefined ? none : this.#terms.add(term));
    }
    return this.#wordTerms.data[word]!;
  }

  #addToken(term: number, position: number): void {
    const rows = this.termRows;
    if (term * termRow.size === rows.length) {
      rows.reserve(termRow.size);
      rows.data[rows.length + termRow.first] = none;
      rows.data[rows.length + termRow.last] = none;
      rows.length += termRow.size;
    }
    const gap = position - this.#expected;
    if (gap > 0) this.#tokens.push((gapBit | gap) >>> 0);
    this.#tokens.push(term);
    this.#expected = position + 1;
    this.#length++;
  }

  /** Takes a document out of the statistics; its postings stay and are skipped as dead. */
  remove(doc: number, hadValues: boolean): void {
    if (!hadValues) return;
    this.liveDocs--;
    this.liveLength -= this.#lengths.data[doc]!;
    this.#count(this.#tokenStarts.data[doc]!, this.#tokenStarts.data[doc + 1]!);
    const rows = this.termRows.data;
    for (let i = 0; i < this.#touched.length; i++) {
      const row = this.#touched.data[i]! * termRow.size;
      rows[row + termRow.live]!--;
      rows[row + termRow.count] = 0;
    }
    this.#touched.length = 0;
  }

  /** Counts each distinct term of a stretch of tokens, and lists them in `touched`. */
  #count(from: number, to: number): void {
    const tokens = this.#tokens.data;
    const rows = this.termRows.data;
    for (let i = from; i < to; i++) {
      const term = tokens[i]!;
      if (term >= gapBit) continue;
      if (rows[term * termRow.size + termRow.count]!++ === 0) this.#touched.push(term);
    }
  }

  #appendPostings(doc: number, length: number): void {
    const terms = this.termRows.data;
    for (let i = 0; i < this.#touched.length; i++) {
      const row = this.#touched.data[i]! * termRow.size;
      const freq = terms[row + termRow.count]!;
      terms[row + termRow.count] = 0;
      terms[row + termRow.live]!++;
      const chunk = this.#roomyChunk(terms, row);
      const chunks = this.chunkRows.data;
      const at = chunks[chunk + chunkRow.start]! + chunks[chunk + chunkRow.count]!++;
      this.postingDocs.data[at] = doc;
      this.postingFreqs.data[at] = freq;
      if (freq > chunks[chunk + chunkRow.maxFreq]!) chunks[chunk + chunkRow.maxFreq] = freq;
      if (length < chunks[chunk + chunkRow.minLength]!) chunks[chunk + chunkRow.minLength] = length;
    }
    this.#touched.length = 0;
  }

  /** The last chunk of the term in this row, or a new one where it is full. */
  #roomyChunk(terms: Uint32Array, row: number): number {
    const rows = this.chunkRows;
    const last = terms[row + termRow.last]!;
    if (last !== none && rows.data[last + chunkRow.count]! < rows.data[last + chunkRow.capacity]!) return last;
    const before = last === none ? 0 : rows.data[last + chunkRow.capacity]!;
    const capacity = before < blockSize ? Math.max(chunkCapacityMin, before * chunkGrowth) : blockSize;
    const chunk = rows.length;
    rows.reserve(chunkRow.size);
    rows.length += chunkRow.size;
    const { data } = rows;
    data[chunk + chunkRow.start] = this.postingDocs.length;
    data[chunk + chunkRow.count] = 0;
    data[chunk + chunkRow.capacity] = capacity;
    data[chunk + chunkRow.next] = none;
    data[chunk + chunkRow.maxFreq] = 0;
    data[chunk + chunkRow.minLength] = none;
    this.postingDocs.reserve(capacity);
    this.postingDocs.length += capacity;
    this.postingFreqs.reserve(capacity);
    this.postingFreqs.length += capacity;
    if (last === none) terms[row + termRow.first] = chunk;
    else data[last + chunkRow.next] = chunk;
    terms[row + termRow.last] = chunk;
    return chunk;
  }

  liveFrequency(term: number): number {
    return this.termRows.data[term * termRow.size + termRow.live]!;
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
    const chunks = this.chunkRows.data;
    const first = this.termRows.data[term * termRow.size + termRow.first]!;
    for (let chunk = first; chunk !== none; chunk = chunks[chunk + chunkRow.next]!) {
      const from = chunks[chunk + chunkRow.start]!;
      for (let i = from; i < from + chunks[chunk + chunkRow.count]!; i++) {
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
