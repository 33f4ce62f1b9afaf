// The comparison of a query with the short codes of all rows (product quantisation), in AssemblyScript: made into
// src/adapter/vectors/codes-binary.ts by scripts/wasm.ts. The host owns the memory, which threads share, and passes addresses. How the
// codes lie in it: see codes-file.ts.

/** Rows whose codes are compared together. */
const blockRows: u32 = 64;
/** What a row in reach adds up to at most. */
const sumMax: u32 = 254;

/** Of the distances of a query from the rows, less that of the nearest centres. */
let mean: f32 = 0;
let variance: f32 = 0;
let greatest: f32 = 0;

@inline
function sumOf(lanes: v128): f32 {
  return (
    f32x4.extract_lane(lanes, 0) + f32x4.extract_lane(lanes, 1) +
    f32x4.extract_lane(lanes, 2) + f32x4.extract_lane(lanes, 3)
  );
}

@inline
function least(lanes: v128): f32 {
  return min(
    min(f32x4.extract_lane(lanes, 0), f32x4.extract_lane(lanes, 1)),
    min(f32x4.extract_lane(lanes, 2), f32x4.extract_lane(lanes, 3)),
  );
}

@inline
function most(lanes: v128): f32 {
  return max(
    max(f32x4.extract_lane(lanes, 0), f32x4.extract_lane(lanes, 1)),
    max(f32x4.extract_lane(lanes, 2), f32x4.extract_lane(lanes, 3)),
  );
}

/** How far four centres of one part are from the query: by l2 squared, else less the product. */
@inline
function distances(centres: usize, query: usize, numbers: u32, isL2: bool): v128 {
  let sum = f32x4.splat(0);
  for (let i: u32 = 0; i < numbers; i++) {
    const value = v128.load32_splat(query + (<usize>i << 2));
    const centre = v128.load(centres + (<usize>i << 6));
    if (isL2) {
      const apart = f32x4.sub(value, centre);
      sum = f32x4.add(sum, f32x4.mul(apart, apart));
    } else sum = f32x4.sub(sum, f32x4.mul(value, centre));
  }
  return sum;
}

/**
 * How far the query is from the 16 centres of each part (f32), less the nearest of them; returns the sum of these. The centres of a part
 * are the first number of all 16, the second of all, …, and behind them their shares of the rows, which tell mean and variance.
 */
export function measure(centres: usize, parts: u32, numbers: u32, query: usize, isL2: bool, out: usize): f32 {
  let all: f32 = 0;
  mean = 0;
  variance = 0;
  greatest = 0;
  const partBytes = (<usize>numbers + 1) << 6;
  for (let p: u32 = 0; p < parts; p++) {
    const a = distances(centres, query, numbers, isL2);
    const b = distances(centres + 16, query, numbers, isL2);
    const c = distances(centres + 32, query, numbers, isL2);
    const d = distances(centres + 48, query, numbers, isL2);
    const ofNearest = least(f32x4.min(f32x4.min(a, b), f32x4.min(c, d)));
    const nearest = f32x4.splat(ofNearest);
    all += ofNearest;
    const shares = centres + partBytes - 64;
    let ofRows = f32x4.splat(0);
    let squared = f32x4.splat(0);
    let furthest = f32x4.splat(0);
    for (let at: usize = 0; at < 64; at += 16) {
      const lanes = f32x4.sub(at == 0 ? a : at == 16 ? b : at == 32 ? c : d, nearest);
      const weighted = f32x4.mul(lanes, v128.load(shares + at));
      ofRows = f32x4.add(ofRows, weighted);
      squared = f32x4.add(squared, f32x4.mul(lanes, weighted));
      furthest = f32x4.max(furthest, lanes);
      v128.store(out + at, lanes);
    }
    const ofPart = sumOf(ofRows);
    mean += ofPart;
    variance += sumOf(squared) - ofPart * ofPart;
    greatest += most(furthest);
    centres += partBytes;
    query += <usize>numbers << 2;
    out += 64;
  }
  return all;
}

@inline
function wholeOf(from: usize, scale: v128, isCut: bool): v128 {
  const scaled = f32x4.mul(v128.load(from), scale);
  return i32x4.trunc_sat_f32x4_s(isCut ? scaled : f32x4.nearest(scaled));
}

/**
 * The distances of `measure` as bytes; returns what they were multiplied with. A row's bytes add up to at most 254 if it is nearer than
 * most by `deviations`, and of all rows if that is below 0; what is further is 255.
 */
export function shorten(from: usize, parts: u32, deviations: f32, table: usize): f32 {
  const isCut = deviations < 0;
  const reach = isCut ? greatest : max<f32>(mean - deviations * sqrt<f32>(max<f32>(variance, 0)), mean / 4);
  const by: f32 = reach > 0 ? <f32>sumMax / reach : 0;
  const scale = f32x4.splat(by);
  for (let p: u32 = 0; p < parts; p++) {
    const low = i16x8.narrow_i32x4_s(wholeOf(from, scale, isCut), wholeOf(from + 16, scale, isCut));
    const high = i16x8.narrow_i32x4_s(wholeOf(from + 32, scale, isCut), wholeOf(from + 48, scale, isCut));
    v128.store(table, i8x16.narrow_i16x8_u(low, high));
    from += 64;
    table += 16;
  }
  return by;
}

@inline
function add(sum: v128, table: v128, codes: v128): v128 {
  return i8x16.add_sat_u(sum, i8x16.relaxed_swizzle(table, codes));
}

/**
 * The `wanted` nearest of the rows whose bits are set in `words`, nearest first, to `results`; returns how many. Two parts share a byte of
 * each row. `room` begins with 16 bytes of 15, which V8 would make anew in every round of the loop, then come the sums of a block and
 * 255 counts, where it leaves how many rows have each sum or less; `entries` has room for all rows. Behind the counts it leaves how many
 * rows were allowed, and the greatest sum that was looked for.
 */
export function nearest(
  codes: usize, pairs: u32, words: usize, blocks: u32, table: usize, room: usize, entries: usize, results: usize, wanted: u32,
): u32 {
  const mask = v128.load(room);
  const sums = room + 16;
  const counts = sums + blockRows;
  const blockBytes = <usize>pairs << 6;
  memory.fill(counts, 0, (sumMax + 1) << 2);
  let limit = sumMax;
  let limits = i8x16.splat(<i8>limit);
  let within: u32 = 0;
  let all: u32 = 0;
  let end = entries;
  for (let b: u32 = 0; b < blocks; b++, codes += blockBytes, words += 8) {
    const allowed = load<u64>(words);
    if (allowed == 0) continue;
    all += <u32>popcnt(allowed);
    let s = i8x16.splat(0);
    let t = s;
    let u = s;
    let v = s;
    let from = table;
    for (let at = codes, stop = codes + blockBytes; at < stop; at += 64, from += 32) {
      const low = v128.load(from);
      const high = v128.load(from, 16);
      const c = v128.load(at);
      const d = v128.load(at, 16);
      const e = v128.load(at, 32);
      const f = v128.load(at, 48);
      s = add(s, low, v128.and(c, mask));
      t = add(t, low, v128.and(d, mask));
      u = add(u, low, v128.and(e, mask));
      v = add(v, low, v128.and(f, mask));
      s = add(s, high, v128.and(i16x8.shr_u(c, 4), mask));
      t = add(t, high, v128.and(i16x8.shr_u(d, 4), mask));
      u = add(u, high, v128.and(i16x8.shr_u(e, 4), mask));
      v = add(v, high, v128.and(i16x8.shr_u(f, 4), mask));
    }
    let near = allowed & (
      <u64>i8x16.bitmask(i8x16.le_u(s, limits)) | (<u64>i8x16.bitmask(i8x16.le_u(t, limits)) << 16) |
      (<u64>i8x16.bitmask(i8x16.le_u(u, limits)) << 32) | (<u64>i8x16.bitmask(i8x16.le_u(v, limits)) << 48)
    );
    if (near == 0) continue;
    v128.store(sums, s);
    v128.store(sums, t, 16);
    v128.store(sums, u, 32);
    v128.store(sums, v, 48);
    for (; near != 0; near &= near - 1) {
      const row = <u32>ctz(near);
      const sum = <u32>load<u8>(sums + row);
      if (sum > limit) continue;
      store<u32>(end, (b * blockRows + row) | (sum << 24));
      end += 4;
      const count = counts + (sum << 2);
      store<u32>(count, load<u32>(count) + 1);
      within++;
      // Sums beyond the limit are of no use: without those that are as far as the last, enough are left.
      for (let last = load<u32>(counts + (limit << 2)); within - last >= wanted; last = load<u32>(counts + (limit << 2))) {
        within -= last;
        limit--;
        limits = i8x16.splat(<i8>limit);
      }
    }
  }
  store<u32>(counts + ((sumMax + 1) << 2), all);
  store<u32>(counts + ((sumMax + 2) << 2), limit);
  // Where the rows of each sum begin among the results.
  let begin: u32 = 0;
  for (let sum: u32 = 0; sum <= limit; sum++) {
    const count = load<u32>(counts + (sum << 2));
    store<u32>(counts + (sum << 2), begin);
    begin += count;
  }
  for (let at = entries; at < end; at += 4) {
    const entry = load<u32>(at);
    const sum = entry >> 24;
    if (sum > limit) continue;
    const count = counts + (sum << 2);
    const place = load<u32>(count);
    store<u32>(count, place + 1);
    if (place < wanted) store<u32>(results + (<usize>place << 2), entry & 0xffffff);
  }
  return min(begin, wanted);
}
