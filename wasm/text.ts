// The best documents of a segment by BM25, in AssemblyScript: made into src/engine/search/text/score-kernel-binary.ts by
// scripts/wasm.ts. The same search as `searchAny` in max-score.ts, over the postings where they lie. The host owns the memory,
// which threads share, and passes addresses; each thread works in a room of its own.

const blockSize: u32 = 128;
const endOfPostings: u32 = 0x7fffffff;
const windowDocs: u32 = 2048;
/** A lookup takes as long as scoring this many postings in order. */
const lookupCost: u32 = 2;
/** Added and taken off again, this leaves a multiple of 2^-32, so that sums are exact in any order. */
const rounding: f64 = 1.5 * 1048576.0;

const width8: u32 = 0;
const width16: u32 = 1;
const widthNone: u32 = 3;

/** Of the segment: words of each document, and of each block of postings what the stored text says. */
let lengths: usize = 0;
let firsts: usize = 0;
let lasts: usize = 0;
let docAts: usize = 0;
let freqAts: usize = 0;
let shapes: usize = 0;
let maxFreqs: usize = 0;
let minLengths: usize = 0;
let pool8: usize = 0;
let pool16: usize = 0;
let pool32: usize = 0;

/** Of the search: where it works, documents that may be found (0: all), and what decides. */
let room: usize = 0;
let allowed: usize = 0;
let docCount: u32 = 0;
let base: f64 = 0;
let slope: f64 = 0;
/** What scores less is of no use. */
let floor: f64 = 0;
let wanted: u32 = 0;
let clauseCount: u32 = 0;
/** Clauses before this one, in the order of their bounds, are only looked up. */
let essential: u32 = 0;
/** What the looked-up clauses can add together. */
let rest: f64 = 0;

// The room: end of the last window (u32), documents found (u32), the order of the clauses (16 u32), what the first i of the order can add
// together (17 f64), the scores of the documents found (512 f64, a heap with the worst first), their numbers (512 u32), 16 clauses,
// the scores of a window (f64), and a bit for each of its documents that may be among the best.
const orderAt: usize = 16;
const cumulatedAt: usize = 80;
const heapScoresAt: usize = 256;
const heapDocsAt: usize = 4352;
const clausesAt: usize = 6400;
const scoresAt: usize = 23808;
const markedAt: usize = 40192;

// A clause: weight and bound (f64), first and last block, postings, loaded block, the block where the next window begins, block and place
// of the last look-up, document, place and count of the loaded block (i32 and u32), live postings, nothing; then the documents and
// frequencies of the loaded block.
const clauseBytes: usize = 1088;
const firstBlockOf: usize = 16;
const lastBlockOf: usize = 20;
const frequencyOf: usize = 24;
const blockOf: usize = 28;
const shallowOf: usize = 32;
const lookupOf: usize = 36;
const lookupPlaceOf: usize = 40;
const docOf: usize = 44;
const placeOf: usize = 48;
const countOf: usize = 52;
const postingsOf: usize = 56;
const docsOf: usize = 64;
const freqsOf: usize = 576;

@inline
function clauseOf(i: u32): usize {
  return room + clausesAt + <usize>i * clauseBytes;
}

@inline
function ordered(i: u32): usize {
  return clauseOf(load<u32>(room + orderAt + (<usize>i << 2)));
}

@inline
function cumulated(i: u32): f64 {
  return load<f64>(room + cumulatedAt + (<usize>i << 3));
}

export function setSegment(
  ofLengths: usize, ofFirsts: usize, ofLasts: usize, ofDocs: usize, ofFreqs: usize, ofShapes: usize,
  ofMaxFreqs: usize, ofMinLengths: usize, of8: usize, of16: usize, of32: usize,
): void {
  lengths = ofLengths;
  firsts = ofFirsts;
  lasts = ofLasts;
  docAts = ofDocs;
  freqAts = ofFreqs;
  shapes = ofShapes;
  maxFreqs = ofMaxFreqs;
  minLengths = ofMinLengths;
  pool8 = of8;
  pool16 = of16;
  pool32 = of32;
}

/** A search goes on with this after another one has used the module. */
export function setSearch(
  at: usize, allowedAt: usize, documents: u32, ofBase: f64, ofSlope: f64, least: f64, count: u32, clauses: u32,
): void {
  room = at;
  allowed = allowedAt;
  docCount = documents;
  base = ofBase;
  slope = ofSlope;
  floor = least;
  wanted = count;
  clauseCount = clauses;
}

export function begin(): void {
  store<u32>(room, 0);
  store<u32>(room, 0, 4);
  for (let i: u32 = 0; i < clauseCount; i++) store<u32>(room + orderAt + (<usize>i << 2), i);
}

export function setClause(i: u32, weight: f64, firstBlock: u32, lastBlock: i32, frequency: u32, postings: u32): void {
  const clause = clauseOf(i);
  store<f64>(clause, weight);
  store<u32>(clause, firstBlock, firstBlockOf);
  store<i32>(clause, lastBlock, lastBlockOf);
  store<u32>(clause, frequency, frequencyOf);
  store<i32>(clause, <i32>firstBlock - 1, blockOf);
  store<u32>(clause, firstBlock, shallowOf);
  store<u32>(clause, firstBlock, lookupOf);
  store<u32>(clause, 0, lookupPlaceOf);
  store<u32>(clause, postings, postingsOf);
  store<u32>(clause, 0, placeOf);
  store<u32>(clause, 0, countOf);
  store<u32>(clause, 0, docOf);
  loadBlock(clause, <i32>firstBlock);
}

@inline
function impact(weight: f64, freq: f64, length: u32): f64 {
  return (weight * freq) / (freq + base + slope * <f64>length) + rounding - rounding;
}

@inline
function u32Of(list: usize, i: u32): u32 {
  return load<u32>(list + (<usize>i << 2));
}

/** The first block from `from` on whose last document is at least `target`, in steps that double and then halve. */
function blockReaching(clause: usize, from: i32, target: u32): i32 {
  const last = load<i32>(clause, lastBlockOf);
  if (from > last || u32Of(lasts, from) >= target) return from;
  let low = from;
  let step: i32 = 1;
  while (low + step <= last && u32Of(lasts, low + step) < target) {
    low += step;
    step <<= 1;
  }
  let high = min<i32>(low + step, last + 1);
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if (u32Of(lasts, middle) < target) low = middle;
    else high = middle;
  }
  return high;
}

/** Postings in a block of a clause. */
@inline
function blockCount(clause: usize, block: i32): u32 {
  const before = <u32>(block - load<i32>(clause, firstBlockOf)) * blockSize;
  return min(blockSize, load<u32>(clause, frequencyOf) - before);
}

@inline
function unpack(to: usize, width: u32, at: u32, count: u32, first: u32): void {
  if (width == width8) {
    for (let i: u32 = 0; i < count; i++) store<u32>(to + (<usize>i << 2), first + load<u8>(pool8 + <usize>(at + i)));
  } else if (width == width16) {
    for (let i: u32 = 0; i < count; i++) {
      store<u32>(to + (<usize>i << 2), first + load<u16>(pool16 + (<usize>(at + i) << 1)));
    }
  } else {
    for (let i: u32 = 0; i < count; i++) store<u32>(to + (<usize>i << 2), first + u32Of(pool32, at + i));
  }
}

/** Loads a block, or ends the postings where there is none. */
function loadBlock(clause: usize, block: i32): void {
  if (block > load<i32>(clause, lastBlockOf)) {
    store<u32>(clause, 0, countOf);
    store<u32>(clause, endOfPostings, docOf);
    return;
  }
  const count = blockCount(clause, block);
  const shape = <u32>load<u8>(shapes + <usize>block);
  unpack(clause + docsOf, shape & 3, u32Of(docAts, block), count, u32Of(firsts, block));
  const freqWidth = shape >> 2;
  const freqs = clause + freqsOf;
  if (freqWidth == widthNone) {
    const one = i32x4.splat(1);
    for (let at: usize = 0; at < <usize>blockSize << 2; at += 16) v128.store(freqs + at, one);
  } else unpack(freqs, freqWidth, u32Of(freqAts, block), count, 0);
  store<i32>(clause, block, blockOf);
  store<u32>(clause, count, countOf);
  store<u32>(clause, 0, placeOf);
  store<u32>(clause, load<u32>(clause, docsOf), docOf);
}

/** Moves to the first document at or after `target`; never back. */
function advance(clause: usize, target: u32): u32 {
  const doc = load<u32>(clause, docOf);
  if (doc >= target) return doc;
  const count = load<u32>(clause, countOf);
  const docs = clause + docsOf;
  if (u32Of(docs, count - 1) < target) {
    loadBlock(clause, blockReaching(clause, load<i32>(clause, blockOf) + 1, target));
    if (load<u32>(clause, docOf) >= target) return load<u32>(clause, docOf);
  }
  let low = load<u32>(clause, placeOf);
  let high = load<u32>(clause, countOf) - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (u32Of(docs, middle) < target) low = middle + 1;
    else high = middle;
  }
  store<u32>(clause, low, placeOf);
  const found = u32Of(docs, low);
  store<u32>(clause, found, docOf);
  return found;
}

/** No posting in these documents adds more. */
function boundOver(clause: usize, start: u32, end: u32): f64 {
  const shallow = blockReaching(clause, load<i32>(clause, shallowOf), start);
  store<i32>(clause, shallow, shallowOf);
  const last = load<i32>(clause, lastBlockOf);
  const weight = load<f64>(clause);
  let best: f64 = 0;
  for (let block = shallow; block <= last && u32Of(firsts, block) < end; block++) {
    best = max(best, impact(weight, <f64>u32Of(maxFreqs, block), u32Of(minLengths, block)));
  }
  return best;
}

@inline
function numberAt(width: u32, at: u32): u32 {
  if (width == width8) return load<u8>(pool8 + <usize>at);
  return width == width16 ? load<u16>(pool16 + (<usize>at << 1)) : u32Of(pool32, at);
}

/** How often the term of a clause stands in a document, which must not go back from call to call. */
function freqIn(clause: usize, doc: u32): u32 {
  const before = load<i32>(clause, lookupOf);
  const block = blockReaching(clause, before, doc);
  if (block != before) {
    store<i32>(clause, block, lookupOf);
    store<u32>(clause, 0, lookupPlaceOf);
  }
  if (block > load<i32>(clause, lastBlockOf)) return 0;
  const first = u32Of(firsts, block);
  if (doc < first) return 0;
  const target = doc - first;
  const shape = <u32>load<u8>(shapes + <usize>block);
  const width = shape & 3;
  const docAt = u32Of(docAts, block);
  const to = docAt + blockCount(clause, block);
  let low = docAt + load<u32>(clause, lookupPlaceOf);
  let high = low;
  for (let step: u32 = 1; high < to && numberAt(width, high) < target; step <<= 1) {
    low = high + 1;
    high += step;
  }
  if (high > to) high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numberAt(width, middle) < target) low = middle + 1;
    else high = middle;
  }
  store<u32>(clause, low - docAt, lookupPlaceOf);
  // The block's last document is not below, so that there is a place at or after it.
  if (numberAt(width, low) != target) return 0;
  const freqWidth = shape >> 2;
  return freqWidth == widthNone ? 1 : numberAt(freqWidth, u32Of(freqAts, block) + low - docAt);
}

@inline
function isFull(): bool {
  return load<u32>(room, 4) == wanted;
}

/** Whether a document that scores so much at most stays out. Documents come in ascending order, so of equal ones the first are kept. */
@inline
function staysOut(score: f64): bool {
  return isFull() ? score <= load<f64>(room + heapScoresAt) : score < floor;
}

/** What a sum of the window has to reach: staysOut decides about equals. */
@inline
function needed(): f64 {
  return (isFull() ? load<f64>(room + heapScoresAt) : floor) - rest;
}

/** Of two documents found, whether the first is the worse one. */
@inline
function isWorse(score: f64, doc: u32, than: f64, thanDoc: u32): bool {
  return score < than || (score == than && doc > thanDoc);
}

function keep(score: f64, doc: u32): void {
  const scores = room + heapScoresAt;
  const docs = room + heapDocsAt;
  const found = load<u32>(room, 4);
  let at: u32 = 0;
  if (found < wanted) {
    store<u32>(room, found + 1, 4);
    for (at = found; at > 0; ) {
      const parent = (at - 1) >> 1;
      const above = load<f64>(scores + (<usize>parent << 3));
      const aboveDoc = u32Of(docs, parent);
      if (!isWorse(score, doc, above, aboveDoc)) break;
      store<f64>(scores + (<usize>at << 3), above);
      store<u32>(docs + (<usize>at << 2), aboveDoc);
      at = parent;
    }
  } else {
    for (;;) {
      let child = (at << 1) + 1;
      if (child >= wanted) break;
      let below = load<f64>(scores + (<usize>child << 3));
      let belowDoc = u32Of(docs, child);
      if (child + 1 < wanted) {
        const other = load<f64>(scores + (<usize>(child + 1) << 3));
        const otherDoc = u32Of(docs, child + 1);
        if (isWorse(other, otherDoc, below, belowDoc)) {
          child++;
          below = other;
          belowDoc = otherDoc;
        }
      }
      if (!isWorse(below, belowDoc, score, doc)) break;
      store<f64>(scores + (<usize>at << 3), below);
      store<u32>(docs + (<usize>at << 2), belowDoc);
      at = child;
    }
  }
  store<f64>(scores + (<usize>at << 3), score);
  store<u32>(docs + (<usize>at << 2), doc);
}

/** Adds what the looked-up clauses give, and keeps the document unless it falls behind on the way. */
function complete(doc: u32, found: f64): void {
  let score = found;
  for (let i = <i32>essential - 1; i >= 0; i--) {
    if (staysOut(score + cumulated(i + 1))) return;
    const clause = ordered(i);
    const freq = freqIn(clause, doc);
    if (freq > 0) score += impact(load<f64>(clause), <f64>freq, u32Of(lengths, doc));
  }
  if (!staysOut(score)) keep(score, doc);
}

/** Adds the postings of a clause up to `end` into the window, and marks the documents that reach `least`. */
function scoreInto(clause: usize, start: u32, end: u32, least: f64): void {
  const weight = load<f64>(clause);
  const scores = room + scoresAt;
  const marked = room + markedAt;
  const docs = clause + docsOf;
  const freqs = clause + freqsOf;
  let doc = advance(clause, start);
  while (doc < end) {
    const count = load<u32>(clause, countOf);
    let i = load<u32>(clause, placeOf);
    for (; i < count; i++) {
      doc = u32Of(docs, i);
      if (doc >= end) break;
      const place = doc - start;
      const at = scores + (<usize>place << 3);
      const sum = load<f64>(at) + impact(weight, <f64>u32Of(freqs, i), u32Of(lengths, doc));
      store<f64>(at, sum);
      if (sum >= least) {
        const word = marked + ((<usize>place >> 5) << 2);
        store<u32>(word, load<u32>(word) | (1 << (place & 31)));
      }
    }
    if (i < count) {
      store<u32>(clause, i, placeOf);
      store<u32>(clause, doc, docOf);
      return;
    }
    loadBlock(clause, load<i32>(clause, blockOf) + 1);
    doc = load<u32>(clause, docOf);
  }
}

/** Completes and keeps the documents of a window. */
function collect(start: u32): void {
  const scores = room + scoresAt;
  const marked = room + markedAt;
  let least = needed();
  for (let w: u32 = 0; w < windowDocs >> 5; w++) {
    let word = u32Of(marked, w);
    if (word == 0) continue;
    if (allowed != 0) word &= u32Of(allowed, (start >> 5) + w);
    for (; word != 0; word &= word - 1) {
      const place = (w << 5) + ctz(word);
      const score = load<f64>(scores + (<usize>place << 3));
      if (score < least) continue;
      complete(start + place, score);
      least = needed();
    }
  }
}

/** A window with one essential clause needs no sums. */
function collectSingle(clause: usize, start: u32, end: u32): void {
  const weight = load<f64>(clause);
  const docs = clause + docsOf;
  const freqs = clause + freqsOf;
  let least = needed();
  let doc = advance(clause, start);
  while (doc < end) {
    const count = load<u32>(clause, countOf);
    let i = load<u32>(clause, placeOf);
    for (; i < count; i++) {
      doc = u32Of(docs, i);
      if (doc >= end) break;
      const score = impact(weight, <f64>u32Of(freqs, i), u32Of(lengths, doc));
      if (score < least) continue;
      if (allowed != 0 && (u32Of(allowed, doc >> 5) & (1 << (doc & 31))) == 0) continue;
      complete(doc, score);
      least = needed();
    }
    if (i < count) {
      store<u32>(clause, i, placeOf);
      store<u32>(clause, doc, docOf);
      return;
    }
    loadBlock(clause, load<i32>(clause, blockOf) + 1);
    doc = load<u32>(clause, docOf);
  }
}

/** Brings the clauses into the order of their bounds: a handful, nearly in order from the window before. */
function sortByBound(): void {
  const order = room + orderAt;
  for (let i: u32 = 1; i < clauseCount; i++) {
    const clause = u32Of(order, i);
    const bound = load<f64>(clauseOf(clause), 8);
    let at = i;
    while (at > 0 && load<f64>(clauseOf(u32Of(order, at - 1)), 8) > bound) {
      store<u32>(order + (<usize>at << 2), u32Of(order, at - 1));
      at--;
    }
    store<u32>(order + (<usize>at << 2), clause);
  }
}

/** Searches so many windows; returns whether all is searched. */
export function run(windows: u32): bool {
  for (; windows > 0; windows--) {
    let next = endOfPostings;
    for (let i: u32 = 0; i < clauseCount; i++) next = min(next, load<u32>(clauseOf(i), docOf));
    if (next == endOfPostings) return true;
    const start = max(next, load<u32>(room)) & ~31;
    if (start >= docCount) return true;
    const end = min(start + windowDocs, docCount);
    store<u32>(room, end);
    for (let i: u32 = 0; i < clauseCount; i++) {
      const clause = clauseOf(i);
      store<f64>(clause, boundOver(clause, start, end), 8);
    }
    sortByBound();
    let sum: f64 = 0;
    store<f64>(room + cumulatedAt, 0);
    essential = 0;
    for (let i: u32 = 0; i < clauseCount; i++) {
      sum += load<f64>(ordered(i), 8);
      store<f64>(room + cumulatedAt + (<usize>(i + 1) << 3), sum);
      if (essential == i && staysOut(sum)) essential++;
    }
    if (essential < clauseCount) {
      let scored: u32 = 0;
      for (let i = essential; i < clauseCount; i++) scored += load<u32>(ordered(i), postingsOf);
      while (essential > 0 && load<u32>(ordered(essential - 1), postingsOf) < scored * lookupCost) {
        essential--;
        scored += load<u32>(ordered(essential), postingsOf);
      }
      rest = cumulated(essential);
      if (essential == clauseCount - 1) collectSingle(ordered(essential), start, end);
      else {
        memory.fill(room + scoresAt, 0, <usize>(end - start) << 3);
        memory.fill(room + markedAt, 0, windowDocs >> 3);
        const least = needed();
        for (let i = essential; i < clauseCount; i++) scoreInto(ordered(i), start, end, least);
        collect(start);
      }
    }
    if (end >= docCount) return true;
  }
  return false;
}
