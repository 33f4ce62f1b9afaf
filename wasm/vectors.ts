// Inner products in single precision, in AssemblyScript: what exact vector search and the scoring of a graph's candidates
// run over every row. Made into src/engine/search/vector/dot-kernel-binary.ts by scripts/wasm.ts. The host owns the
// memory, which threads share, and passes addresses.

@inline
function sumOf(lanes: v128): f32 {
  return (
    f32x4.extract_lane(lanes, 0) + f32x4.extract_lane(lanes, 1) +
    (f32x4.extract_lane(lanes, 2) + f32x4.extract_lane(lanes, 3))
  );
}

@inline
function rest(query: usize, row: usize, from: usize, to: usize, sum: f32): f32 {
  let total = sum;
  for (let at = from; at < to; at += 4) total += load<f32>(query + at) * load<f32>(row + at);
  return total;
}

function dot(query: usize, row: usize, bytes: usize): f32 {
  const whole = bytes & ~(<usize>31);
  let a = f32x4.splat(0);
  let b = f32x4.splat(0);
  let at: usize = 0;
  for (; at < whole; at += 32) {
    a = f32x4.add(a, f32x4.mul(v128.load(query + at), v128.load(row + at)));
    b = f32x4.add(b, f32x4.mul(v128.load(query + at, 16), v128.load(row + at, 16)));
  }
  return rest(query, row, at, bytes, sumOf(f32x4.add(a, b)));
}

/** Four rows at once: each part of the query is loaded once for all of them. */
@inline
function dotFour(query: usize, p: usize, q: usize, r: usize, s: usize, bytes: usize, out: usize): void {
  const whole = bytes & ~(<usize>15);
  let a = f32x4.splat(0);
  let b = f32x4.splat(0);
  let c = f32x4.splat(0);
  let d = f32x4.splat(0);
  let at: usize = 0;
  for (; at < whole; at += 16) {
    const part = v128.load(query + at);
    a = f32x4.add(a, f32x4.mul(part, v128.load(p + at)));
    b = f32x4.add(b, f32x4.mul(part, v128.load(q + at)));
    c = f32x4.add(c, f32x4.mul(part, v128.load(r + at)));
    d = f32x4.add(d, f32x4.mul(part, v128.load(s + at)));
  }
  store<f32>(out, rest(query, p, at, bytes, sumOf(a)));
  store<f32>(out, rest(query, q, at, bytes, sumOf(b)), 4);
  store<f32>(out, rest(query, r, at, bytes, sumOf(c)), 8);
  store<f32>(out, rest(query, s, at, bytes, sumOf(d)), 12);
}

/** The products of the query with `count` rows that lie one after the other. */
export function dots(query: usize, rows: usize, count: usize, dim: usize, out: usize): void {
  const bytes = dim << 2;
  const end = out + (count << 2);
  const fours = out + ((count & ~(<usize>3)) << 2);
  let row = rows;
  let at = out;
  for (; at < fours; at += 16) {
    dotFour(query, row, row + bytes, row + 2 * bytes, row + 3 * bytes, bytes, at);
    row += 4 * bytes;
  }
  for (; at < end; at += 4) {
    store<f32>(at, dot(query, row, bytes));
    row += bytes;
  }
}

/** The products with the rows whose numbers stand in `list`, each in the place of its row's number. */
export function dotsOf(query: usize, rows: usize, list: usize, count: usize, dim: usize): void {
  const bytes = dim << 2;
  const end = list + (count << 2);
  const fours = list + ((count & ~(<usize>3)) << 2);
  let at = list;
  for (; at < fours; at += 16) {
    const p = rows + <usize>load<u32>(at) * bytes;
    const q = rows + <usize>load<u32>(at, 4) * bytes;
    const r = rows + <usize>load<u32>(at, 8) * bytes;
    const s = rows + <usize>load<u32>(at, 12) * bytes;
    dotFour(query, p, q, r, s, bytes, at);
  }
  for (; at < end; at += 4) store<f32>(at, dot(query, rows + <usize>load<u32>(at) * bytes, bytes));
}

@inline
function sumOfWhole(lanes: v128): i32 {
  return (
    i32x4.extract_lane(lanes, 0) + i32x4.extract_lane(lanes, 1) +
    i32x4.extract_lane(lanes, 2) + i32x4.extract_lane(lanes, 3)
  );
}

/**
 * What a query has in common with all rows of a sketch: in 7 bits a number, from 0 to 127 around 64, and in 16; and what a
 * row has to reach.
 */
let coarseScale: f64 = 0;
let coarseLength: f64 = 0;
let coarseError: f64 = 0;
let scale: f64 = 0;
let length: f64 = 0;
let error: f64 = 0;
let bend: f64 = 0;
let minimum: f64 = 0;

export function prepareSift(
  coarseScaleOf: f64, coarseLengthOf: f64, coarseErrorOf: f64,
  scaleOf: f64, lengthOf: f64, errorOf: f64, bendOf: f64, minimumOf: f64,
): void {
  coarseScale = coarseScaleOf;
  coarseLength = coarseLengthOf;
  coarseError = coarseErrorOf;
  scale = scaleOf;
  length = lengthOf;
  error = errorOf;
  bend = bendOf;
  minimum = minimumOf;
}

/** With 7 bits a number of the query: one instruction for 16 products, exact as long as none of the 7 bits overflows. */
@inline
function coarseProduct(query: usize, row: usize, stride: usize): i32 {
  let a = i32x4.splat(0);
  let b = i32x4.splat(0);
  const end = row + stride;
  const whole = row + (stride & ~(<usize>63));
  let at = row;
  let asked = query;
  for (; at < whole; at += 64) {
    a = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(at), v128.load(asked), a);
    b = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(at, 16), v128.load(asked, 16), b);
    a = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(at, 32), v128.load(asked, 32), a);
    b = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(at, 48), v128.load(asked, 48), b);
    asked += 64;
  }
  for (; at < end; at += 16) {
    a = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(at), v128.load(asked), a);
    asked += 16;
  }
  return sumOfWhole(i32x4.add(a, b));
}

function fineProduct(query: usize, row: usize, stride: usize): i32 {
  let a = i32x4.splat(0);
  let b = i32x4.splat(0);
  let asked = query;
  for (let at = row, end = row + stride; at < end; at += 16) {
    const part = v128.load(at);
    a = i32x4.add(a, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(part), v128.load(asked)));
    b = i32x4.add(b, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(part), v128.load(asked, 16)));
    asked += 32;
  }
  return sumOfWhole(i32x4.add(a, b));
}

/**
 * The rows of a sketch that may reach the minimum: their numbers into `out`, and how many as the answer. The rows have 8
 * bits a number, `coarse` 7, `query` 16, all of `stride` numbers; `factors`, `margins` and `norms` have a number for each
 * row, `sums` what the numbers of each come to. What the coarse look leaves is looked at once more.
 */
export function sift(
  coarse: usize, query: usize, rows: usize, stride: usize,
  factors: usize, margins: usize, norms: usize, sums: usize,
  from: u32, count: u32, out: usize,
): u32 {
  const least = minimum;
  const bent = bend;
  const byScale = coarseScale;
  const byMargin = coarseLength;
  const byNorm = coarseError;
  let at = out;
  let row = rows + <usize>from * stride;
  for (let i = from, to = from + count; i < to; i++, row += stride) {
    const place = <usize>i << 3;
    const norm = load<f64>(norms + place);
    const factor = load<f64>(factors + place);
    const margin = load<f64>(margins + place);
    const product = coarseProduct(coarse, row, stride) - (load<i32>(sums + (<usize>i << 2)) << 6);
    // What is no number is kept, here and below.
    if (<f64>product * byScale * factor + margin * byMargin + norm * (byNorm - bent * norm) < least) continue;
    const most =
      <f64>fineProduct(query, row, stride) * scale * factor + margin * length + norm * (error - bent * norm);
    store<u32>(at, i);
    at += (most < least) ? 0 : 4;
  }
  return <u32>((at - out) >> 2);
}
