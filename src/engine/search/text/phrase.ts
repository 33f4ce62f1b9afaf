import type { Bitset } from "../index/bitset.ts";
import { U32List } from "../index/growable.ts";
import { blockSize, endOfPostings, impact, PostingsCursor } from "../index/postings.ts";
import type { TextIndex } from "../index/reader.ts";

/** Visits the documents that hold all terms of the cursors, in order. */
export function forEachShared(cursors: readonly PostingsCursor[], visit: (doc: number) => void): void {
  const lead = cursors[0];
  if (lead === undefined) return;
  let doc = lead.next();
  while (doc !== endOfPostings) {
    let agreed = true;
    for (let i = 1; i < cursors.length; i++) {
      const other = cursors[i]!.advance(doc);
      if (other === doc) continue;
      doc = lead.advance(other);
      agreed = false;
      break;
    }
    if (!agreed) continue;
    visit(doc);
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

export function findPhrase(
  text: TextIndex,
  terms: readonly string[],
  offsets: readonly number[],
  allowed: Bitset | undefined,
): PhrasePostings {
  const found: PhrasePostings = { docs: new U32List(), freqs: new U32List() };
  const ordinals = terms.map((term) => text.ordinal(term));
  if (ordinals.includes(-1) || terms.length === 0) return found;
  const cursors = ordinals.map((ordinal) => text.cursor(ordinal));
  const lists = cursors.map(() => new U32List());
  const places = new Uint32Array(cursors.length);
  forEachShared(cursors, (doc) => {
    if (allowed !== undefined && !allowed.has(doc)) return;
    const freq = phraseFrequency(cursors, offsets, lists, places);
    if (freq === 0) return;
    found.docs.push(doc);
    found.freqs.push(freq);
  });
  return found;
}

/** Walks postings that are whole in memory. */
export class ListCursor extends PostingsCursor {
  readonly #postings: PhrasePostings;
  readonly #lengths: Uint32Array;
  #loaded = 0;
  #shallow = 0;

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

  positions(out: U32List): void {
    out.length = 0;
  }
}
