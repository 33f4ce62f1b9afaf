import type { VectorGraphInput } from "../../port/vector-graph.ts";

export interface Scale {
  readonly factor: number;
  /** Whether lengths are drawn together besides. */
  readonly bent: boolean;
}

/** Rows whose lengths are looked at. */
const sampleRows = 1_000;
/** From this ratio of long to short rows on, their lengths differ much. */
const unevenRatio = 4;

/**
 * To this power lengths are drawn together where they differ much and l2 counts them. Without it no link leads from the
 * many short rows out to a long one, as nearer rows take all of their links: with lengths from 1 to 400 a graph found 0.67
 * of the nearest among 40,000 × 64, and with it 0.99 among 50,000. What is near stays near, if not in quite the same order.
 */
const bentPower = 1 / 3;

/** Candidates of a bent graph, against those of others: what is near in it is not quite what is nearest. */
export const bentEffort = 2;

/**
 * Vectors are scaled before they are stored in half the size: to length 1 for cosine, which then is an inner product
 * and cheaper, and by one factor for dot and l2, which keeps their order. So no number is too large to be multiplied.
 */
export function scaleOf(input: VectorGraphInput): Scale {
  const { rows, dim, distance } = input;
  if (distance === "cosine") return { factor: 1, bent: false };
  let max = 0;
  for (let i = 0; i < rows.length; i++) max = Math.max(max, Math.abs(rows[i]!));
  if (max === 0) return { factor: 1, bent: false };
  return { factor: 1 / (max * Math.sqrt(dim)), bent: isUneven(input) };
}

function isUneven({ rows, dim, distance }: VectorGraphInput): boolean {
  const rowCount = rows.length / dim;
  if (distance !== "l2" || rowCount < 2) return false;
  const step = Math.max(1, Math.floor(rowCount / sampleRows));
  const lengths: number[] = [];
  for (let row = 0; row < rowCount; row += step) lengths.push(lengthOf(rows, row * dim, dim));
  lengths.sort((a, b) => a - b);
  const [short, long] = [0.05, 0.95].map((share) => lengths[Math.floor(lengths.length * share)]!);
  return long! > unevenRatio * short!;
}

/** In double precision, in which no single-precision vector overflows. */
export function lengthOf(vector: Float32Array, from: number, dim: number): number {
  let squared = 0;
  for (let i = from; i < from + dim; i++) squared += vector[i]! * vector[i]!;
  return Math.sqrt(squared);
}

/** What a vector is multiplied with; 0 for a zero vector where its length counts. */
function multiplier(vector: Float32Array, from: number, dim: number, unit: boolean, { factor, bent }: Scale): number {
  if (!unit && !bent) return factor;
  const own = lengthOf(vector, from, dim);
  if (own === 0) return 0;
  return unit ? 1 / own : factor * (own * factor) ** (bentPower - 1);
}

export function scaleRows(input: VectorGraphInput, scale: Scale, from: number, to: number): Float32Array {
  const { rows, dim, distance } = input;
  const scaled = new Float32Array((to - from) * dim);
  for (let row = from; row < to; row++) {
    const by = multiplier(rows, row * dim, dim, distance === "cosine", scale);
    const shift = (row - from) * dim;
    for (let i = 0; i < dim; i++) scaled[shift + i] = rows[row * dim + i]! * by;
  }
  return scaled;
}

/** The length of the query changes nothing but for l2. Undefined when it is 0 or when the scaled query is too large. */
export function scaleQuery(
  query: Float32Array,
  distance: VectorGraphInput["distance"],
  scale: Scale,
): Float32Array | undefined {
  const by = multiplier(query, 0, query.length, distance !== "l2", scale);
  // Nothing is at a zero query's side by direction alone; by l2 its place is the origin.
  if (by === 0 && distance !== "l2") return undefined;
  const scaled = new Float32Array(query.length);
  for (let i = 0; i < query.length; i++) {
    const value = query[i]! * by;
    // Squares and their sums have to stay within single precision.
    if (!(Math.abs(value) < 1e15)) return undefined;
    scaled[i] = value;
  }
  return scaled;
}

/** With more than so many there are links among them alone: copies are each other's nearest. */
const zerosMax = 16;

/** Zero rows have no direction: by cosine they are as far from all others, which no place among them is. */
export function hasManyZeros({ rows, dim }: VectorGraphInput): boolean {
  let zeros = 0;
  for (let from = 0; from < rows.length && zeros <= zerosMax; from += dim) {
    let i = from;
    while (i < from + dim && rows[i] === 0) i++;
    if (i === from + dim) zeros++;
  }
  return zeros > zerosMax;
}

/** The mean of the scaled rows. */
export function centreOf(input: VectorGraphInput, scale: Scale): Float32Array {
  const { rows, dim } = input;
  const rowCount = rows.length / dim;
  const sums = new Float64Array(dim);
  for (let from = 0; from < rowCount; from += centredRows) {
    const scaled = scaleRows(input, scale, from, Math.min(rowCount, from + centredRows));
    for (let i = 0; i < scaled.length; i++) sums[i % dim]! += scaled[i]!;
  }
  return Float32Array.from(sums, (sum) => sum / Math.max(1, rowCount));
}

/** Rows without the centre, in place. */
export function withoutCentre(scaled: Float32Array, centre: Float32Array): Float32Array {
  for (let i = 0; i < scaled.length; i++) scaled[i]! -= centre[i % centre.length]!;
  return scaled;
}

/** Rows that are added up at once. */
const centredRows = 1_024;
