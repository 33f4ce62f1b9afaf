import type { Steps } from "../../turns.ts";
import type { Bitset } from "../index/bitset.ts";
import { endOfPostings, impact, type PostingsCursor } from "../index/postings.ts";
import type { TopK } from "../index/top-k.ts";
import { stepDocs } from "../limits.ts";

/** Documents that are scored together. */
const windowDocs = 2048;
/** Windows of one step. */
export const stepWindows = 32;
/** A lookup takes as long as scoring this many postings in order; where most documents would be looked up, score. */
const lookupCost = 2;
const rounding = 1.5 * 2 ** 20;

/** What a search needs besides the index, within one of its steps. */
export class ScoreWindow {
  readonly scores = new Float64Array(windowDocs);
  readonly marked = new Uint32Array(windowDocs / 32);
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

/**
 * Adds a cursor's impacts up to `end` into the window, leaving the cursor at `end` or past it. Documents whose sum
 * reaches `needed` are marked; sums only grow, so that whoever reaches it in the end is marked.
 */
function scoreInto(
  window: ScoreWindow,
  cursor: PostingsCursor,
  start: number,
  end: number,
  weight: number,
  needed: number,
  part: ScoredPart,
): void {
  // The hot loop of text search: typed arrays only, nothing allocated, no calls. Stepping the cursor posting by
  // posting instead costs a sixth of the queries a second.
  const { scores, marked } = window;
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
      const sum = scores[at]! + ((weight * freq) / (freq + base + slope * lengths[doc]!) + rounding - rounding);
      scores[at] = sum;
      if (sum >= needed) marked[at >>> 5]! |= 1 << (at & 31);
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
 * found, and a window in which that holds for all clauses is skipped unread. `searchInPlace` is the same search over a segment.
 */
export function* searchAny(
  part: ScoredPart,
  cursors: readonly PostingsCursor[],
  weights: readonly number[],
  postings: readonly number[],
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
    let scored = 0;
    for (let i = essential; i < count; i++) scored += postings[order[i]!]!;
    while (essential > 0 && postings[order[essential - 1]!]! < scored * lookupCost) {
      scored += postings[order[--essential]!]!;
    }
    const clauses: Clauses = { cursors, weights, order, cumulated, essential };
    if (essential === count - 1) collectSingle(part, clauses, start, end, top);
    else {
      window.scores.fill(0, 0, end - start);
      window.marked.fill(0);
      const needed = top.threshold - cumulated[essential]!;
      for (let i = essential; i < count; i++) {
        scoreInto(window, cursors[order[i]!]!, start, end, weights[order[i]!]!, needed, part);
      }
      collect(part, clauses, start, window, top);
    }
    if (end >= part.docCount) return;
  }
}

/** The clauses of a window in the order of their bounds; those before `essential` are only looked up. */
interface Clauses {
  readonly cursors: readonly PostingsCursor[];
  readonly weights: readonly number[];
  readonly order: Uint32Array;
  readonly cumulated: Float64Array;
  readonly essential: number;
}

/** Adds what the looked-up clauses give, and offers the document unless it falls behind on the way. */
function complete(part: ScoredPart, clauses: Clauses, doc: number, found: number, top: TopK): void {
  const { cursors, weights, order, cumulated } = clauses;
  let score = found;
  for (let i = clauses.essential - 1; i >= 0; i--) {
    if (score + cumulated[i + 1]! < top.threshold) return;
    const c = order[i]!;
    const freq = cursors[c]!.freqIn(doc);
    if (freq > 0) score += impact(weights[c]!, freq, part.lengths[doc]!, part.base, part.slope);
  }
  if (score >= top.threshold) top.offer(score, part.ids[doc]!, part.reader, doc);
}

/** Completes and offers the documents of a window. */
function collect(part: ScoredPart, clauses: Clauses, start: number, window: ScoreWindow, top: TopK): void {
  const { scores, marked } = window;
  const rest = clauses.cumulated[clauses.essential]!;
  const allowed = part.allowed?.words;
  const firstWord = start >>> 5;
  let needed = top.threshold - rest;
  for (let w = 0; w < marked.length; w++) {
    let word = marked[w]!;
    if (word === 0) continue;
    if (allowed !== undefined) word &= allowed[firstWord + w]!;
    const base = w << 5;
    while (word !== 0) {
      const at = base + (31 - Math.clz32(word & -word));
      word &= word - 1;
      const score = scores[at]!;
      if (score < needed) continue;
      complete(part, clauses, start + at, score, top);
      needed = top.threshold - rest;
    }
  }
}

/** A window with one essential clause needs no sums: its postings are offered as they come. */
function collectSingle(part: ScoredPart, clauses: Clauses, start: number, end: number, top: TopK): void {
  const c = clauses.order[clauses.essential]!;
  const cursor = clauses.cursors[c]!;
  const weight = clauses.weights[c]!;
  const rest = clauses.cumulated[clauses.essential]!;
  const { lengths, base, slope, allowed } = part;
  const { docs, freqs } = cursor;
  let needed = top.threshold - rest;
  let doc = cursor.advance(start);
  while (doc < end) {
    const count = cursor.count;
    let i = cursor.at;
    for (; i < count; i++) {
      doc = docs[i]!;
      if (doc >= end) break;
      const freq = freqs[i]!;
      const score = (weight * freq) / (freq + base + slope * lengths[doc]!) + rounding - rounding;
      if (score < needed || (allowed !== undefined && !allowed.has(doc))) continue;
      complete(part, clauses, doc, score, top);
      needed = top.threshold - rest;
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
