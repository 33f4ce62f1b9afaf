import type { U32List } from "./growable.ts";
import { endOfPostings, firstReaching, impact, PostingsCursor } from "./postings.ts";

/** No chunk, or no term. */
export const none = 0xffffffff;

/**
 * What is kept of a term: the live documents that hold it, how often it stands in the document being added or deleted
 * (0 in between), and where its first and its last chunk lie.
 */
export const termRow = { live: 0, count: 1, first: 2, last: 3, size: 4 } as const;
/** What is kept of a chunk of postings: where they lie, how many, where the next chunk lies, and the limits of its impact. */
export const chunkRow = { start: 0, count: 1, capacity: 2, next: 3, maxFreq: 4, minLength: 5, size: 6 } as const;
/** Where the postings of a tail lie. */
export interface TailPostings {
  readonly termRows: U32List;
  readonly chunkRows: U32List;
  readonly postingDocs: U32List;
  readonly postingFreqs: U32List;
  positionsIn(doc: number, term: number, out: U32List): void;
}

/** Walks the postings of one term of a tail. */
export class TailCursor extends PostingsCursor {
  readonly #text: TailPostings;
  readonly #term: number;
  #next: number;
  /** The first chunk that reaches the start of the last asked stretch. */
  #shallow: number;
  /** The chunk of the last posting that was looked up. */
  #lookup: number;

  constructor(text: TailPostings, term: number) {
    super();
    this.#text = text;
    this.#term = term;
    this.#next = text.termRows.data[term * termRow.size + termRow.first]!;
    this.#shallow = this.#next;
    this.#lookup = this.#next;
  }

  protected loadNext(): boolean {
    if (this.#next === none) return false;
    this.#load(this.#next);
    return true;
  }

  protected loadReaching(target: number): boolean {
    const chunks = this.#text.chunkRows.data;
    const docs = this.#text.postingDocs.data;
    while (this.#next !== none) {
      if (docs[lastPosting(chunks, this.#next)]! >= target) {
        this.#load(this.#next);
        return true;
      }
      this.#next = chunks[this.#next + chunkRow.next]!;
    }
    return false;
  }

  #load(chunk: number): void {
    const { chunkRows, postingDocs, postingFreqs } = this.#text;
    const from = chunkRows.data[chunk + chunkRow.start]!;
    this.count = chunkRows.data[chunk + chunkRow.count]!;
    for (let i = 0; i < this.count; i++) {
      this.docs[i] = postingDocs.data[from + i]!;
      this.freqs[i] = postingFreqs.data[from + i]!;
    }
    this.#next = chunkRows.data[chunk + chunkRow.next]!;
  }

  boundOver(start: number, end: number, weight: number, base: number, slope: number): number {
    const chunks = this.#text.chunkRows.data;
    const docs = this.#text.postingDocs.data;
    while (this.#shallow !== none && docs[lastPosting(chunks, this.#shallow)]! < start) {
      this.#shallow = chunks[this.#shallow + chunkRow.next]!;
    }
    let best = 0;
    for (let chunk = this.#shallow; chunk !== none; chunk = chunks[chunk + chunkRow.next]!) {
      if (docs[chunks[chunk + chunkRow.start]!]! >= end) break;
      const bound = impact(weight, chunks[chunk + chunkRow.maxFreq]!, chunks[chunk + chunkRow.minLength]!, base, slope);
      if (bound > best) best = bound;
    }
    return best;
  }

  freqIn(doc: number): number {
    const chunks = this.#text.chunkRows.data;
    const docs = this.#text.postingDocs.data;
    for (; this.#lookup !== none; this.#lookup = chunks[this.#lookup + chunkRow.next]!) {
      const last = lastPosting(chunks, this.#lookup);
      if (docs[last]! < doc) continue;
      const place = firstReaching(docs, doc, chunks[this.#lookup + chunkRow.start]!, last + 1);
      return docs[place] === doc ? this.#text.postingFreqs.data[place]! : 0;
    }
    return 0;
  }

  positions(out: U32List): void {
    out.length = 0;
    if (this.doc !== endOfPostings) this.#text.positionsIn(this.doc, this.#term, out);
  }
}

function lastPosting(chunks: Uint32Array, chunk: number): number {
  return chunks[chunk + chunkRow.start]! + chunks[chunk + chunkRow.count]! - 1;
}
