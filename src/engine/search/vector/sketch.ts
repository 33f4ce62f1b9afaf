import type { Distance } from "../../schema/schema.ts";
import { dotAt } from "./distance.ts";

/**
 * Rows in a quarter of their size, for ruling out most of them: each number as 8 bits of its row's greatest. What a row's
 * product with a query can be at most follows from the sketch and from how far it is off, so that nothing is lost.
 */
export interface RowSketch {
  /** A row takes this many bytes, the last ones of which are 0. */
  readonly stride: number;
  readonly rows: Int8Array;
  /** What a product of whole numbers is multiplied with. */
  readonly factors: Float64Array;
  /** How far the sketch is off: the length of the difference. */
  readonly margins: Float64Array;
  readonly norms: Float64Array;
  /** What the numbers of a row come to. */
  readonly sums: Int32Array;
}

/** Shorter vectors are compared as fast as their sketches. */
export const sketchDimMin = 32;

export function sketchStride(dim: number): number {
  return Math.ceil(dim / 16) * 16;
}

/** Rounding of double precision, as a share of what is rounded, many times over. */
const roundingShare = 1e-9;
const rowMax = 127;

function greatest(values: Float32Array, from: number, count: number): number {
  let max = 0;
  for (let i = from; i < from + count; i++) {
    const size = Math.abs(values[i]!);
    if (size > max) max = size;
  }
  return max;
}

/** Makes the sketch of one row. For cosine all is by the row's length, as scores are. */
export function sketchRow(
  sketch: RowSketch,
  row: number,
  data: Float32Array,
  dim: number,
  distance: Distance,
  inverse: number,
): void {
  const from = row * dim;
  const to = row * sketch.stride;
  const max = greatest(data, from, dim);
  const unit = max / rowMax;
  // Where a row is 0, so is all of its sketch.
  const perUnit = max === 0 ? 0 : rowMax / max;
  const { rows } = sketch;
  let squared = 0;
  let sum = 0;
  for (let i = 0; i < dim; i++) {
    const value = data[from + i]!;
    const whole = Math.round(value * perUnit);
    rows[to + i] = whole;
    sum += whole;
    const off = value - whole * unit;
    squared += off * off;
  }
  const margin = Math.sqrt(squared) * (1 + roundingShare);
  const isCosine = distance === "cosine";
  const by = isCosine ? inverse : 1;
  sketch.factors[row] = unit * by;
  sketch.margins[row] = margin * by;
  sketch.norms[row] = inverse === 0 ? 0 : isCosine ? 1 : 1 / inverse;
  sketch.sums[row] = sum;
}

/** Takes the first rows of a sketch over into one of the same stride. */
export function copySketch(from: RowSketch, to: RowSketch, rows: number): void {
  to.rows.set(from.rows.subarray(0, rows * from.stride));
  to.factors.set(from.factors.subarray(0, rows));
  to.margins.set(from.margins.subarray(0, rows));
  to.norms.set(from.norms.subarray(0, rows));
  to.sums.set(from.sums.subarray(0, rows));
}

/** A query against sketches, in whole numbers and what they leave out. */
export interface SketchedQuery<T> {
  readonly values: T;
  readonly scale: number;
  /** What a row's margin, and what its length, can add. */
  readonly length: number;
  readonly error: number;
}

export interface SketchQuery {
  /** 7 bits a number, around 64: enough to rule most rows out, and with half the instructions. */
  readonly coarse: SketchedQuery<Uint8Array>;
  /** 16 bits a number, or as many as a sum of all products has room for. */
  readonly fine: SketchedQuery<Int16Array>;
  /** By l2 a row loses half its length squared. */
  readonly bend: number;
}

/** The kernel takes numbers from 0 to 127; it takes this times the sum of a row off again. */
const coarseMiddle = 64;
const coarseMax = coarseMiddle - 1;

export function sketchQuery(query: Float32Array, distance: Distance): SketchQuery {
  const stride = sketchStride(query.length);
  const fineMax = Math.min(32_767, Math.floor(2 ** 31 / ((rowMax + 1) * stride)));
  return {
    coarse: sketched(query, new Uint8Array(stride), coarseMax, coarseMiddle),
    fine: sketched(query, new Int16Array(stride), fineMax, 0),
    bend: distance === "l2" ? (1 - roundingShare) / 2 : 0,
  };
}

function sketched<T extends Uint8Array | Int16Array>(
  query: Float32Array,
  values: T,
  valueMax: number,
  middle: number,
): SketchedQuery<T> {
  const max = greatest(query, 0, query.length);
  const scale = max / valueMax;
  let squared = 0;
  for (let i = 0; i < query.length; i++) {
    const whole = max === 0 ? 0 : Math.round(query[i]! / scale);
    values[i] = whole + middle;
    const off = query[i]! - whole * scale;
    squared += off * off;
  }
  const length = Math.sqrt(dotAt(query, query, 0, query.length));
  const off = Math.sqrt(squared);
  return { values, scale, length: (length + off) * (1 + roundingShare), error: off + roundingShare * length };
}

/** What a row's product, less what l2 takes off, has to be at least for this score; `length` is the query's. */
export function productNeeded(score: number, distance: Distance, length: number): number {
  if (score === Number.NEGATIVE_INFINITY) return score;
  switch (distance) {
    case "cosine":
      return score * length - roundingShare * Math.abs(score) * length;
    case "dot":
      return score - roundingShare * Math.abs(score);
    case "l2": {
      const squared = length * length;
      return (squared + 1 - 1 / score) / 2 - roundingShare * (squared + 1 + 1 / score);
    }
  }
}
