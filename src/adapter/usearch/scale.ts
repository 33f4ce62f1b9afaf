import type { VectorGraphInput } from "../../port/vector-graph.ts";

/**
 * Vectors are scaled before they are stored in half the size: to length 1 for cosine, which then is an inner product
 * and cheaper, and by one factor for dot and l2, which keeps their order. So no number is too large to be multiplied.
 */
export function scaleFactor({ rows, distance }: VectorGraphInput): number {
  if (distance === "cosine") return 1;
  let max = 0;
  for (let i = 0; i < rows.length; i++) max = Math.max(max, Math.abs(rows[i]!));
  return max === 0 ? 1 : 1 / max;
}

/** Rows whose lengths are looked at. */
const sampleRows = 1_000;
/** From this ratio of long to short rows on, their lengths differ much. */
const unevenRatio = 4;

/** Whether the distance depends on lengths and these differ much, so that few rows lie between one and its nearest. */
export function isUneven({ rows, dim, distance }: VectorGraphInput): boolean {
  const rowCount = rows.length / dim;
  if (distance !== "l2" || rowCount < 2) return false;
  const step = Math.max(1, Math.floor(rowCount / sampleRows));
  const lengths: number[] = [];
  for (let row = 0; row < rowCount; row += step) lengths.push(1 / (inverseLength(rows, row * dim, dim) || Infinity));
  lengths.sort((a, b) => a - b);
  const [short, long] = [0.05, 0.95].map((share) => lengths[Math.floor(lengths.length * share)]!);
  return long! > unevenRatio * short!;
}

/** 1 / length in double precision, in which no single-precision vector overflows; 0 for a zero vector. */
function inverseLength(vector: Float32Array, from: number, dim: number): number {
  let squared = 0;
  for (let i = from; i < from + dim; i++) squared += vector[i]! * vector[i]!;
  return squared === 0 ? 0 : 1 / Math.sqrt(squared);
}

export function scaleRows(input: VectorGraphInput, factor: number, from: number, to: number): Float32Array {
  const { rows, dim, distance } = input;
  const scaled = new Float32Array((to - from) * dim);
  for (let row = from; row < to; row++) {
    const by = distance === "cosine" ? inverseLength(rows, row * dim, dim) : factor;
    const shift = (row - from) * dim;
    for (let i = 0; i < dim; i++) scaled[shift + i] = rows[row * dim + i]! * by;
  }
  return scaled;
}

/** The length of the query changes nothing but for l2. Undefined when it is 0 or when the scaled query is too large. */
export function scaleQuery(
  query: Float32Array,
  distance: VectorGraphInput["distance"],
  factor: number,
): Float32Array | undefined {
  const by = distance === "l2" ? factor : inverseLength(query, 0, query.length);
  if (by === 0) return undefined;
  const scaled = new Float32Array(query.length);
  for (let i = 0; i < query.length; i++) {
    const value = query[i]! * by;
    // Squares and their sums have to stay within single precision.
    if (!(Math.abs(value) < 1e15)) return undefined;
    scaled[i] = value;
  }
  return scaled;
}
