import type { Steps } from "../../turns.ts";
import type { Bitset } from "../index/bitset.ts";
import { U32List } from "../index/growable.ts";
import { blockSize, endOfPostings, firstReaching, impact, PostingsCursor } from "../index/postings.ts";
import type { TextIndex } from "../index/reader.ts";

/** Documents and positions that one step looks at; about a millisecond. */
const stepWork = 65_536;

/**
 * Visits the documents below `docCount` that hold all terms of the cursors, in order: what is added between the steps is
 * beyond it. `visit` tells how much it had to look at.
 */
export function* forEachShared(
  cursors: readonly PostingsCursor[],
  docCount: number,
  visit: (doc: number) => number,
): Steps<void> {
  const lead = cursors[0];
  if (lead === undefined) return;
  let work = 0;
  let doc = lead.next();
  while (doc !== endOfPostings && doc < docCount) {
    work += cursors.length;
    if (work >= stepWork) {
      work = 0;
      yield;
    }
    let agreed = true;
    for (let i = 1; i < cursors.length; i++) {
      const other = cursors[i]!.advance(doc);
      if (other === doc) continue;
      doc = lead.advance(other);
      agreed = false;
      break;
    }
    if (!agreed) continue;
    work += visit(doc);
    doc = lead.next();
  }
}

/** How often the terms stand at the given distances in the document that all cursors are at. */
function phraseFrequency(
  cursors: readonly PostingsCursor[],
  offsets: readonly number[],
  lists: readonly U32List[],
  places: Uint32Array,
): number {
  for (let i = 0; i < cursors.length; i++) cursors[i]!.positions(lists[i]!);
  places.fill(0);
  let found = 0;
  const leads = lists[0]!;
  for (let p = 0; p < leads.length; p++) {
    const start = leads.data[p]!;
    let all = true;
    for (let i = 1; i < lists.length && all; i++) {
      const list = lists[i]!;
      const wanted = start + offsets[i]!;
      let place = places[i]!;
      while (place < list.length && list.data[place]! < wanted) place++;
      places[i] = place;
      all = place < list.length && list.data[place] === wanted;
    }
    if (all) found++;
  }
  return found;
}

/** The documents of a phrase with its frequency in each: postings like those of a term. */
export interface PhrasePostings {
  readonly docs: U32List;
  readonly freqs: U32List;
}

export function* findPhrase(
  text: TextIndex,
  terms: readonly string[],
  offsets: readonly number[],
  docCount: number,
  allowed: Bitset | undefined,
): Steps<PhrasePostings> {
  const found: PhrasePostings = { docs: new U32List(), freqs: new U32List() };
  const ordinals = terms.map((term) => text.ordinal(term));
  if (ordinals.includes(-1) || terms.length === 0) return found;
  const cursors = ordinals.map((ordinal) => text.cursor(ordinal));
  const lists = cursors.map(() => new U32List());
  const places = new Uint32Array(cursors.length);
  yield* forEachShared(cursors, docCount, (doc) => {
    if (allowed !== undefined && !allowed.has(doc)) return 0;
    const freq = phraseFrequency(cursors, offsets, lists, places);
    if (freq > 0) {
      found.docs.push(doc);
      found.freqs.push(freq);
    }
    let positions = 0;
    for (const list of lists) positions += list.length;
    return positions;
  });
  return found;
}

/** Whether one document holds the phrase: jumps to it instead of walking the postings. */
export function isPhraseIn(
  text: TextIndex,
  terms: readonly string[],
  offsets: readonly number[],
  doc: number,
): boolean {
  const ordinals = terms.map((term) => text.ordinal(term));
  if (ordinals.includes(-1) || terms.length === 0) return false;
  const cursors = ordinals.map((ordinal) => text.cursor(ordinal));
  if (!cursors.every((cursor) => cursor.advance(doc) === doc)) return false;
  const lists = cursors.map(() => new U32List());
  return phraseFrequency(cursors, offsets, lists, new Uint32Array(cursors.length)) > 0;
}

/** Walks postings that are whole in memory. */
export class ListCursor extends PostingsCursor {
  readonly #postings: PhrasePostings;
  readonly #lengths: Uint32Array;
  #loaded = 0;
  #shallow = 0;
  #lookup = 0;

  constructor(postings: PhrasePostings, lengths: Uint32Array) {
    super();
    this.#postings = postings;
    this.#lengths = lengths;
  }

  protected loadNext(): boolean {
    const { docs, freqs } = this.#postings;
    if (this.#loaded >= docs.length) return false;
    this.count = Math.min(blockSize, docs.length - this.#loaded);
    for (let i = 0; i < this.count; i++) {
      this.docs[i] = docs.data[this.#loaded + i]!;
      this.freqs[i] = freqs.data[this.#loaded + i]!;
    }
    this.#loaded += this.count;
    return true;
  }

  protected loadReaching(target: number): boolean {
    const { docs } = this.#postings;
    while (this.#loaded < docs.length && docs.data[this.#loaded]! < target) this.#loaded++;
    return this.loadNext();
  }

  boundOver(start: number, end: number, weight: number, base: number, slope: number): number {
    const { docs, freqs } = this.#postings;
    while (this.#shallow < docs.length && docs.data[this.#shallow]! < start) this.#shallow++;
    let best = 0;
    for (let i = this.#shallow; i < docs.length && docs.data[i]! < end; i++) {
      const exact = impact(weight, freqs.data[i]!, this.#lengths[docs.data[i]!]!, base, slope);
      if (exact > best) best = exact;
    }
    return best;
  }

  freqIn(doc: number): number {
    const { docs, freqs } = this.#postings;
    this.#lookup = firstReaching(docs.data, doc, this.#lookup, docs.length);
    return this.#lookup < docs.length && docs.data[this.#lookup] === doc ? freqs.data[this.#lookup]! : 0;
  }

  positions(out: U32List): void {
    out.length = 0;
  }
}
