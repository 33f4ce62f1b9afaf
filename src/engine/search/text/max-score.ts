import type { Bitset } from "../index/bitset.ts";
import { endOfPostings, impact, type PostingsCursor } from "../index/postings.ts";
import type { TopK } from "../index/top-k.ts";
import { type Steps, stepDocs } from "../steps.ts";

/** Documents that are scored together. */
const windowDocs = 4096;
/** Windows of one step. */
const stepWindows = 16;
const rounding = 1.5 * 2 ** 20;

/** Scores of the documents of one window; empty before and after each. */
export class ScoreWindow {
  readonly scores = new Float64Array(windowDocs);
  readonly touched = new Uint32Array(windowDocs / 32);

  clear(): void {
    this.scores.fill(0);
    this.touched.fill(0);
  }
}

/** One part of the index as the scorers see it. */
export interface ScoredPart {
  readonly reader: number;
  readonly docCount: number;
  readonly ids: Float64Array;
  readonly idsAscending: boolean;
  readonly lengths: Uint32Array;
  /** Documents that may be found, or undefined for all. */
  readonly allowed: Bitset | undefined;
  readonly base: number;
  readonly slope: number;
}

/** Adds a cursor's impacts up to `end` into the window, leaving the cursor at `end` or past it. */
function scoreInto(
  window: ScoreWindow,
  cursor: PostingsCursor,
  start: number,
  end: number,
  weight: number,
  part: ScoredPart,
): void {
  // The hot loop of text search: typed arrays only, nothing allocated, no calls; 3 times as fast as one call per
  // posting through the cursor.
  const { scores, touched } = window;
  const { lengths, base, slope } = part;
  const { docs, freqs } = cursor;
  let doc = cursor.advance(start);
  while (doc < end) {
    const count = cursor.count;
    let i = cursor.at;
    for (; i < count; i++) {
      doc = docs[i]!;
      if (doc >= end) break;
      const freq = freqs[i]!;
      const at = doc - start;
      scores[at]! += (weight * freq) / (freq + base + slope * lengths[doc]!) + rounding - rounding;
      touched[at >>> 5]! |= 1 << (at & 31);
    }
    if (i < count) {
      cursor.at = i;
      cursor.doc = doc;
      return;
    }
    cursor.at = count - 1;
    doc = cursor.next();
  }
}

/**
 * Top k of documents that match any clause, by block-max MaxScore: the documents are taken in windows; in each window
 * the clauses whose bounds together cannot reach the k-th score are only looked up for documents that another clause
 * found, and a window in which that holds for all clauses is skipped unread.
 */
export function* searchAny(
  part: ScoredPart,
  cursors: readonly PostingsCursor[],
  weights: readonly number[],
  window: ScoreWindow,
  top: TopK,
): Steps<void> {
  const count = cursors.length;
  const bounds = new Float64Array(count);
  const order = Uint32Array.from(cursors, (_, i) => i);
  /** cumulated[i] bounds what the first i clauses of the order can add together. */
  const cumulated = new Float64Array(count + 1);
  for (const cursor of cursors) cursor.next();
  let end = 0;
  for (let windows = 1; ; windows++) {
    // Between windows only: what a window holds is of no use after it, so that searches can share it.
    if (windows % stepWindows === 0) yield;
    let next = endOfPostings;
    for (let i = 0; i < count; i++) {
      const doc = cursors[i]!.doc;
      if (doc < next) next = doc;
    }
    if (next === endOfPostings) return;
    const start = Math.max(next, end) & ~31;
    if (start >= part.docCount) return;
    end = Math.min(start + windowDocs, part.docCount);
    for (let i = 0; i < count; i++) {
      bounds[i] = cursors[i]!.boundOver(start, end, weights[i]!, part.base, part.slope);
    }
    sortByBound(order, bounds);
    for (let i = 0; i < count; i++) cumulated[i + 1] = cumulated[i]! + bounds[order[i]!]!;
    // A document with the k-th score still gets in by a lower id, unless the ids from here on are all higher.
    const tieLoses = part.idsAscending && part.ids[start]! > top.thresholdId;
    let essential = 0;
    while (
      essential < count &&
      (cumulated[essential + 1]! < top.threshold || (tieLoses && cumulated[essential + 1] === top.threshold))
    ) {
      essential++;
    }
    if (essential === count) {
      if (end >= part.docCount) return;
      continue;
    }
    for (let i = essential; i < count; i++) {
      scoreInto(window, cursors[order[i]!]!, start, end, weights[order[i]!]!, part);
    }
    collect(part, cursors, weights, order, cumulated, essential, start, window, top);
    if (end >= part.docCount) return;
  }
}

/** Completes and offers the documents of a window. */
function collect(
  part: ScoredPart,
  cursors: readonly PostingsCursor[],
  weights: readonly number[],
  order: Uint32Array,
  cumulated: Float64Array,
  essential: number,
  start: number,
  window: ScoreWindow,
  top: TopK,
): void {
  const { scores, touched } = window;
  const { ids, lengths, base, slope } = part;
  const allowed = part.allowed?.words;
  const firstWord = start >>> 5;
  for (let w = 0; w < touched.length; w++) {
    // A signed number of 32 bits stays unboxed.
    const found = touched[w]! | 0;
    if (found === 0) continue;
    touched[w] = 0;
    const kept = allowed === undefined ? found : found & allowed[firstWord + w]!;
    let word = kept;
    while (word !== 0) {
      const bit = 31 - Math.clz32(word & -word);
      word &= word - 1;
      const at = (w << 5) + bit;
      const doc = start + at;
      let score = scores[at]!;
      scores[at] = 0;
      if (score + cumulated[essential]! < top.threshold) continue;
      for (let i = essential - 1; i >= 0; i--) {
        if (score + cumulated[i + 1]! < top.threshold) break;
        const c = order[i]!;
        const freq = cursors[c]!.freqIn(doc);
        if (freq > 0) score += impact(weights[c]!, freq, lengths[doc]!, base, slope);
      }
      // A score that was left incomplete is below the threshold even with all that is missing.
      if (score >= top.threshold) top.offer(score, ids[doc]!, part.reader, doc);
    }
    if (kept !== found) clearScores(scores, w, found & ~kept);
  }
}

/** Empties the given places of a word's 32; many of them by clearing them all. */
function clearScores(scores: Float64Array, word: number, bits: number): void {
  const first = word << 5;
  let left = bits;
  for (let count = 0; count < 8; count++) {
    if (left === 0) return;
    scores[first + (31 - Math.clz32(left & -left))] = 0;
    left &= left - 1;
  }
  for (let at = first; at < first + 32; at++) scores[at] = 0;
}

/** Insertion sort: a handful of clauses, nearly in order from the window before. */
function sortByBound(order: Uint32Array, bounds: Float64Array): void {
  for (let i = 1; i < order.length; i++) {
    const clause = order[i]!;
    const bound = bounds[clause]!;
    let at = i;
    while (at > 0 && bounds[order[at - 1]!]! > bound) {
      order[at] = order[at - 1]!;
      at--;
    }
    order[at] = clause;
  }
}

/**
 * Top k of documents that match any clause, led by the few documents that a filter allows. The clauses are looked up
 * from the one that can add most, until what is left cannot bring the document in.
 */
export function* searchAllowed(
  part: ScoredPart,
  allowed: Bitset,
  cursors: readonly PostingsCursor[],
  weights: readonly number[],
  top: TopK,
): Steps<void> {
  const { ids, lengths, base, slope, docCount } = part;
  const count = cursors.length;
  const bounds = Float64Array.from(cursors, (cursor, i) => cursor.boundOver(0, docCount, weights[i]!, base, slope));
  const order = Uint32Array.from(cursors, (_, i) => i);
  sortByBound(order, bounds);
  const cumulated = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) cumulated[i + 1] = cumulated[i]! + bounds[order[i]!]!;
  let visited = 0;
  for (let doc = allowed.next(0); doc !== -1; doc = allowed.next(doc + 1)) {
    let score = 0;
    for (let i = count - 1; i >= 0; i--) {
      if (score + cumulated[i + 1]! < top.threshold) break;
      const c = order[i]!;
      const freq = cursors[c]!.freqIn(doc);
      if (freq > 0) score += impact(weights[c]!, freq, lengths[doc]!, base, slope);
    }
    if (score > 0 && score >= top.threshold) top.offer(score, ids[doc]!, part.reader, doc);
    if (++visited % stepDocs === 0) yield;
  }
}
