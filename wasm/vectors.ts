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

/** What the query has in common with all rows of a sketch, and what a row has to reach. */
let scale: f64 = 0;
let length: f64 = 0;
let error: f64 = 0;
let bend: f64 = 0;
let minimum: f64 = 0;

export function prepareSift(scaleOf: f64, lengthOf: f64, errorOf: f64, bendOf: f64, minimumOf: f64): void {
  scale = scaleOf;
  length = lengthOf;
  error = errorOf;
  bend = bendOf;
  minimum = minimumOf;
}

/**
 * The rows of a sketch that may reach the minimum: their numbers into `out`, and how many as the answer. `query` has 16
 * bits a number, the rows 8, both of `stride` numbers; `factors`, `margins` and `norms` have a number for each row.
 */
export function sift(
  query: usize, rows: usize, stride: usize, factors: usize, margins: usize, norms: usize,
  from: u32, count: u32, out: usize,
): u32 {
  let at = out;
  let row = rows + <usize>from * stride;
  for (let i = from, to = from + count; i < to; i++) {
    let a = i32x4.splat(0);
    let b = i32x4.splat(0);
    let asked = query;
    for (const end = row + stride; row < end; row += 16) {
      const part = v128.load(row);
      a = i32x4.add(a, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(part), v128.load(asked)));
      b = i32x4.add(b, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(part), v128.load(asked, 16)));
      asked += 32;
    }
    const place = <usize>i << 3;
    const norm = load<f64>(norms + place);
    const most =
      <f64>sumOfWhole(i32x4.add(a, b)) * scale * load<f64>(factors + place) +
      load<f64>(margins + place) * length + norm * (error - bend * norm);
    store<u32>(at, i);
    // What is no number is kept too.
    at += (most < minimum) ? 0 : 4;
  }
  return <u32>((at - out) >> 2);
}
