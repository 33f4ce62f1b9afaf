// The walk through a graph of near vectors (HNSW), in AssemblyScript: made into src/adapter/vectors/walk-binary.ts by
// scripts/wasm.ts. The host owns the memory, which threads share, and passes addresses. How a row lies in it: see walk-file.ts.

const none: u32 = 0xffffffff;

/** What all scores of one query are made with. */
let isHalved: bool = false;
let queryAt: usize = 0;
let scale: f32 = 0;
/** What the bias of each row is multiplied with. */
let biasWeight: f32 = 0;
/** The sum of the query's numbers times 15, for rows of 4 bits a number: these stand around 7.5. */
let querySum: i32 = 0;

/** A query of 8 bits a number for rows of 4; one of 7 bits, from 0 to 127 around 64, for rows of 8. */
export function setQuery(halved: bool, query: usize, unit: f32, weight: f32, sum: i32): void {
  isHalved = halved;
  queryAt = query;
  scale = unit;
  biasWeight = weight;
  querySum = sum;
}

const middleShift: i32 = 6;

@inline
function sumOfLanes(lanes: v128): i32 {
  return (
    i32x4.extract_lane(lanes, 0) + i32x4.extract_lane(lanes, 1) +
    i32x4.extract_lane(lanes, 2) + i32x4.extract_lane(lanes, 3)
  );
}

/** What is behind the numbers of a row makes its score of the sum of products. */
@inline
function scoreOf(product: i32, tail: usize): f32 {
  return <f32>product * scale * load<f32>(tail) + biasWeight * load<f32>(tail, 4);
}

@inline
function scoreOfWhole(lanes: v128, tail: usize): f32 {
  return scoreOf(sumOfLanes(lanes) - (load<i32>(tail, 8) << middleShift), tail);
}

@inline
function scoreOfHalved(lanes: v128, tail: usize): f32 {
  return scoreOf((sumOfLanes(lanes) << 1) - querySum, tail);
}

/** The scores of four rows: while one is fetched from memory, so are the others. */
@inline
function scoreFourWhole(p: usize, q: usize, r: usize, s: usize, rowBytes: usize, out: usize): void {
  const query = queryAt;
  const tail = rowBytes - 16;
  let a = i32x4.splat(0);
  let b = i32x4.splat(0);
  let c = i32x4.splat(0);
  let d = i32x4.splat(0);
  for (let at: usize = 0; at < tail; at += 16) {
    const part = v128.load(query + at);
    a = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(p + at), part, a);
    b = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(q + at), part, b);
    c = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(r + at), part, c);
    d = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(s + at), part, d);
  }
  store<f32>(out, scoreOfWhole(a, p + tail));
  store<f32>(out, scoreOfWhole(b, q + tail), 4);
  store<f32>(out, scoreOfWhole(c, r + tail), 8);
  store<f32>(out, scoreOfWhole(d, s + tail), 12);
}

/** Both numbers of each of 16 bytes, times theirs of the query, which is 0 where a row has its tail. */
@inline
function addHalved(row: v128, low: v128, high: v128, sum: v128): v128 {
  const mask = i8x16.splat(15);
  const half = i32x4.relaxed_dot_i8x16_i7x16_add_s(low, v128.and(row, mask), sum);
  return i32x4.relaxed_dot_i8x16_i7x16_add_s(high, v128.and(i16x8.shr_u(row, 4), mask), half);
}

@inline
function scoreFourHalved(p: usize, q: usize, r: usize, s: usize, rowBytes: usize, out: usize): void {
  const query = queryAt;
  let a = i32x4.splat(0);
  let b = i32x4.splat(0);
  let c = i32x4.splat(0);
  let d = i32x4.splat(0);
  for (let at: usize = 0; at < rowBytes; at += 16) {
    const low = v128.load(query + at);
    const high = v128.load(query + rowBytes + at);
    a = addHalved(v128.load(p + at), low, high, a);
    b = addHalved(v128.load(q + at), low, high, b);
    c = addHalved(v128.load(r + at), low, high, c);
    d = addHalved(v128.load(s + at), low, high, d);
  }
  const tail = rowBytes - 12;
  store<f32>(out, scoreOfHalved(a, p + tail));
  store<f32>(out, scoreOfHalved(b, q + tail), 4);
  store<f32>(out, scoreOfHalved(c, r + tail), 8);
  store<f32>(out, scoreOfHalved(d, s + tail), 12);
}

/** The scores of the rows whose places stand from `list` to `end`, behind which there is room for three more. */
function scoreAll(rows: usize, rowBytes: usize, list: usize, end: usize, scores: usize): void {
  // Up to a multiple of four, what is already there once more.
  for (let at = end; (at - list) & 15; at += 4) store<u32>(at, load<u32>(list));
  for (let at = list, out = scores; at < end; at += 16, out += 16) {
    const p = rows + <usize>load<u32>(at) * rowBytes;
    const q = rows + <usize>load<u32>(at, 4) * rowBytes;
    const r = rows + <usize>load<u32>(at, 8) * rowBytes;
    const s = rows + <usize>load<u32>(at, 12) * rowBytes;
    if (isHalved) scoreFourHalved(p, q, r, s, rowBytes, out);
    else scoreFourWhole(p, q, r, s, rowBytes, out);
  }
}

// A heap's entry is a score and a row, 8 bytes. What counts first is the greatest of the candidates, the least of the results.

@inline
function put(entry: usize, score: f32, row: u32): void {
  store<f32>(entry, score);
  store<u32>(entry, row, 4);
}

/** Puts an entry into the hole `at` or above it. */
@inline
function rise(heap: usize, at: usize, score: f32, row: u32, greatest: bool): void {
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = load<f32>(heap + (parent << 3));
    if (greatest ? above >= score : above <= score) break;
    store<u64>(heap + (at << 3), load<u64>(heap + (parent << 3)));
    at = parent;
  }
  put(heap + (at << 3), score, row);
}

/** Puts an entry into the hole `at` or below it, in a heap of `count` entries. */
@inline
function sink(heap: usize, at: usize, count: usize, score: f32, row: u32, greatest: bool): void {
  for (;;) {
    let child = (at << 1) + 1;
    if (child >= count) break;
    let below = load<f32>(heap + (child << 3));
    if (child + 1 < count) {
      const other = load<f32>(heap + ((child + 1) << 3));
      if (greatest ? other > below : other < below) {
        below = other;
        child++;
      }
    }
    if (greatest ? below <= score : below >= score) break;
    store<u64>(heap + (at << 3), load<u64>(heap + (child << 3)));
    at = child;
  }
  put(heap + (at << 3), score, row);
}

/** Brings results into order, nearest first: the least to the end, again and again. */
function sort(results: usize, count: usize): void {
  for (let left = count; left > 1; ) {
    left--;
    const score = load<f32>(results + (left << 3));
    const row = load<u32>(results + (left << 3), 4);
    store<u64>(results + (left << 3), load<u64>(results));
    sink(results, 0, left, score, row, false);
  }
}

/** Leaves only the candidates that reach `least`; returns how many. */
function prune(heap: usize, count: usize, least: f32): usize {
  let kept: usize = 0;
  for (let i: usize = 0; i < count; i++) {
    const entry = load<u64>(heap + (i << 3));
    if (load<f32>(heap + (i << 3)) < least) continue;
    store<u64>(heap + (kept << 3), entry);
    const score = load<f32>(heap + (kept << 3));
    rise(heap, kept, score, load<u32>(heap + (kept << 3), 4), true);
    kept++;
  }
  return kept;
}

/** So that what is read to bring memory near is not left out. */
let touched: u32 = 0;

/**
 * Rows that are followed on each level above the lowest. Of questions between two rows in 64 clusters (12,000 × 128) 0.94 of the
 * ten nearest are found, 0.69 with one row; a walk takes an eighth longer.
 */
const upperWanted: usize = 16;

/**
 * Follows the links of one level from the `found` rows in `results` to the `wanted` nearest, which replace them; returns how
 * many. `visited` has a bit for each row, all 0. Level 0 has `width` links a row, the others as many from where the row says.
 * Ends early where the `nearest` best, which are gathered in `best`, are still the same after `patience` rows were followed.
 */
@inline
function explore(
  rows: usize, rowBytes: usize, links: usize, width: usize, level: u32,
  visited: usize, fresh: usize, candidates: usize, candidatesMax: usize, results: usize, found: usize, wanted: usize,
  best: usize, nearest: usize, patience: u32,
): usize {
  let waiting: usize = 0;
  let bestCount: usize = 0;
  let unchanged: u32 = 0;
  for (let i: usize = 0; i < found; i++) {
    const row = load<u32>(results + (i << 3), 4);
    const word = visited + ((<usize>row >> 5) << 2);
    store<u32>(word, load<u32>(word) | (1 << (row & 31)));
    rise(candidates, waiting++, load<f32>(results + (i << 3)), row, true);
    if (bestCount < nearest) rise(best, bestCount++, load<f32>(results + (i << 3)), row, false);
  }
  while (found > wanted) {
    found--;
    sink(results, 0, found, load<f32>(results + (found << 3)), load<u32>(results + (found << 3), 4), false);
  }
  const scores = fresh + ((width + 4) << 2);
  while (waiting > 0) {
    if (found == wanted && load<f32>(candidates) < load<f32>(results)) break;
    if (nearest > 0 && unchanged++ == patience) break;
    const from = <usize>load<u32>(candidates, 4);
    const first = level == 0
      ? from * width
      : <usize>load<u32>(rows + (from + 1) * rowBytes - 4) + <usize>(level - 1) * width;
    const list = links + (first << 2);
    waiting--;
    const lastScore = load<f32>(candidates + (waiting << 3));
    sink(candidates, 0, waiting, lastScore, load<u32>(candidates + (waiting << 3), 4), true);
    let end = fresh;
    for (let at = list, stop = list + (width << 2); at < stop; at += 4) {
      const row = load<u32>(at);
      if (row == none) break;
      const word = visited + ((<usize>row >> 5) << 2);
      const bits = load<u32>(word);
      const bit: u32 = 1 << (row & 31);
      store<u32>(end, row);
      store<u32>(word, bits | bit);
      // While the other links are looked at, the row is fetched: with rows of 4 bits, in one cache line, a walk takes 0.83 of the
      // time, with longer rows 1.1.
      if (isHalved) touched += load<u32>(rows + <usize>row * rowBytes);
      end += (bits & bit) == 0 ? 4 : 0;
    }
    if (end == fresh) continue;
    scoreAll(rows, rowBytes, fresh, end, scores);
    for (let at: usize = 0; at < end - fresh; at += 4) {
      const score = load<f32>(scores + at);
      const row = load<u32>(fresh + at);
      if (found < wanted) rise(results, found++, score, row, false);
      else if (score > load<f32>(results)) sink(results, 0, found, score, row, false);
      else continue;
      if (bestCount < nearest) {
        rise(best, bestCount++, score, row, false);
        unchanged = 0;
      } else if (nearest > 0 && score > load<f32>(best)) {
        sink(best, 0, bestCount, score, row, false);
        unchanged = 0;
      }
      // Those that fell behind the results are never taken: without them there is room.
      if (waiting == candidatesMax) waiting = prune(candidates, waiting, load<f32>(results));
      rise(candidates, waiting++, score, row, true);
    }
  }
  return found;
}

/**
 * The `wanted` nearest rows that the walk finds, nearest first, as entries in `results`; returns how many. `visited` has a
 * bit for each row, `fresh` room for the links of a row and their scores, `candidates` room for `candidatesMax` entries,
 * which are twice as many as wanted at least, `best` for `nearest`, which is 0 where the walk should not end early. Above the
 * lowest level several rows are followed: one alone ends at the group of rows that lies nearest on its way, and a question
 * between groups is not found from there.
 */
export function walk(
  rows: usize, rowBytes: usize, links: usize, width: usize,
  upper: usize, upperWidth: usize, entry: u32, levels: u32,
  visited: usize, visitedBytes: usize, fresh: usize, candidates: usize, candidatesMax: usize, results: usize, wanted: usize,
  best: usize, nearest: usize, patience: u32,
): usize {
  store<u32>(fresh, entry);
  scoreAll(rows, rowBytes, fresh, fresh + 4, candidates);
  put(results, load<f32>(candidates), entry);
  let found: usize = 1;
  for (let level = levels; level > 0; level--) {
    memory.fill(visited, 0, visitedBytes);
    found = explore(
      rows, rowBytes, upper, upperWidth, level,
      visited, fresh, candidates, candidatesMax, results, found, upperWanted, 0, 0, 0,
    );
  }
  memory.fill(visited, 0, visitedBytes);
  found = explore(
    rows, rowBytes, links, width, 0,
    visited, fresh, candidates, candidatesMax, results, found, wanted, best, nearest, patience,
  );
  sort(results, found);
  return found;
}

/** Rows that `nearestOf` scores together, and a word's more. */
const rowsTogether: usize = 96;

/**
 * The `wanted` nearest of the rows whose bits are set in `words`, which has 32 rows a word from row `firstRow` on: nearest
 * first, as entries in `results`; returns how many. `fresh` has room for 128 rows and their scores. A first look at each row
 * lets the memory be fetched while others are looked at: three quarters of the time of four rows after four.
 */
export function nearestOf(
  rows: usize, rowBytes: usize,
  words: usize, wordCount: usize, firstRow: u32, fresh: usize, results: usize, wanted: usize,
): usize {
  const scores = fresh + ((rowsTogether + 32) << 2);
  let found: usize = 0;
  for (let w: usize = 0; w < wordCount; ) {
    let end = fresh;
    for (; w < wordCount && end <= fresh + (rowsTogether << 2); w++) {
      const first = firstRow + (<u32>w << 5);
      for (let word = load<u32>(words + (w << 2)); word != 0; word &= word - 1) {
        const row = first + ctz(word);
        const at = rows + <usize>row * rowBytes;
        touched += load<u32>(at) + load<u32>(at + rowBytes - 4);
        store<u32>(end, row);
        end += 4;
      }
    }
    scoreAll(rows, rowBytes, fresh, end, scores);
    for (let at: usize = 0; at < end - fresh; at += 4) {
      const score = load<f32>(scores + at);
      if (found < wanted) rise(results, found++, score, load<u32>(fresh + at), false);
      else if (score > load<f32>(results)) sink(results, 0, found, score, load<u32>(fresh + at), false);
    }
  }
  sort(results, found);
  return found;
}
