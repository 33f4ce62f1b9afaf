import type { VectorGraphInput } from "../../port/vector-graph.ts";
import { headBytes } from "./graph-memory.ts";
import { type Scale, scaleRows } from "./scale.ts";

/**
 * Short codes of rows (product quantisation), as `wasm/codes.ts` compares them with a query. The numbers of a row, scaled, are cut into
 * parts of equal length; for each part there are 16 centres, and a row is known by the number of its nearest centre in each. Little endian:
 * a head of u32 (numbers of a part, nothing) · for each part its centres (f32: the first number of all 16, the second, …) and the
 * share of the rows at each (16 f32) · for each 64 rows and each two parts 64 bytes, with the first part's centre in the lower
 * four bits · for each number of a row how far it is from its centre, squared, on the mean (f32) · the variance of what these
 * add up to for a row (f32). What is missing of the last part, of the last pair and of the last 64 rows is 0.
 */
export interface CodesLayout {
  /** Numbers of a part. */
  readonly numbers: number;
  readonly parts: number;
  readonly pairs: number;
  readonly blocks: number;
  /** Where centres, codes and errors begin, and where all ends. */
  readonly centresAt: number;
  readonly codesAt: number;
  readonly errorsAt: number;
  readonly bytes: number;
}

export const centreCount = 16;
export const blockRows = 64;

export function codesLayout(numbers: number, rowCount: number, dim: number): CodesLayout {
  const parts = Math.ceil(dim / numbers);
  const pairs = Math.ceil(parts / 2);
  const blocks = Math.ceil(rowCount / blockRows);
  const centresAt = headBytes;
  const codesAt = centresAt + parts * partFloats(numbers) * 4;
  const errorsAt = codesAt + blocks * pairs * blockRows;
  return { numbers, parts, pairs, blocks, centresAt, codesAt, errorsAt, bytes: errorsAt + (dim + 1) * 4 };
}

function partFloats(numbers: number): number {
  return (numbers + 1) * centreCount;
}

/** Rows that centres are made of, and rounds in which they move to the middle of what is nearest to them. */
const sampleRows = 4_096;
const rounds = 10;

/** The pieces of a file, and pauses between them: an empty piece is one. */
export function* codesPieces(input: VectorGraphInput, scale: Scale, numbers: number): Generator<Uint8Array> {
  const { rows, dim } = input;
  const rowCount = rows.length / dim;
  const { parts, blocks, pairs } = codesLayout(numbers, rowCount, dim);
  yield bytesOf(Uint32Array.of(numbers, ...new Array(headBytes / 4 - 1).fill(0)));
  const centres = new Float32Array(parts * partFloats(numbers));
  const sampled = sampleOf(input, scale);
  for (let part = 0; part < parts; part++) {
    const points = partOf(sampled, dim, part, numbers);
    yield* moveCentres(points, numbers, centres.subarray(part * partFloats(numbers), (part + 1) * partFloats(numbers)));
  }
  yield bytesOf(centres);
  const errors = new Float64Array(parts * numbers);
  let [ofRows, ofRowsSquared] = [0, 0];
  for (let block = 0; block < blocks; block++) {
    const from = block * blockRows;
    const scaled = scaleRows(input, scale, from, Math.min(rowCount, from + blockRows));
    const codes = new Uint8Array(pairs * blockRows);
    const rowErrors = new Float64Array(blockRows);
    for (let part = 0; part < parts; part++) {
      const own = centres.subarray(part * partFloats(numbers), (part + 1) * partFloats(numbers));
      const points = partOf(scaled, dim, part, numbers);
      const shift = part % 2 === 0 ? 0 : 4;
      const at = (part >> 1) * blockRows;
      for (let row = 0; row * numbers < points.length; row++) {
        const centre = nearestCentre(points, row * numbers, numbers, own);
        codes[at + row]! |= centre << shift;
        for (let i = 0; i < numbers; i++) {
          const error = (points[row * numbers + i]! - own[i * centreCount + centre]!) ** 2;
          errors[part * numbers + i]! += error;
          rowErrors[row]! += error;
        }
      }
    }
    for (const error of rowErrors) {
      ofRows += error;
      ofRowsSquared += error * error;
    }
    yield codes;
  }
  const variance = Math.max(0, ofRowsSquared / rowCount - (ofRows / rowCount) ** 2);
  yield bytesOf(Float32Array.of(...errors.subarray(0, dim).map((error) => error / rowCount), variance));
}

/** Rows spread evenly over all. */
function sampleOf(input: VectorGraphInput, scale: Scale): Float32Array {
  const { rows, dim } = input;
  const rowCount = rows.length / dim;
  const count = Math.min(rowCount, sampleRows);
  const sampled = new Float32Array(count * dim);
  for (let i = 0; i < count; i++) {
    const row = Math.floor((i * rowCount) / count);
    sampled.set(scaleRows(input, scale, row, row + 1), i * dim);
  }
  return sampled;
}

/** The numbers of one part, of all rows; 0 where the last part has no more. */
function partOf(rows: Float32Array, dim: number, part: number, numbers: number): Float32Array {
  const count = rows.length / dim;
  const first = part * numbers;
  const there = Math.min(numbers, dim - first);
  const points = new Float32Array(count * numbers);
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < there; i++) points[row * numbers + i] = rows[row * dim + first + i]!;
  }
  return points;
}

/** Puts the centres where they are near to the points (k-means), and their shares of them. */
function* moveCentres(points: Float32Array, numbers: number, centres: Float32Array): Generator<Uint8Array> {
  const count = points.length / numbers;
  spreadCentres(points, numbers, centres);
  yield pause;
  const sums = new Float64Array(centreCount * numbers);
  const counts = new Uint32Array(centreCount);
  for (let round = 0; round < rounds; round++) {
    sums.fill(0);
    counts.fill(0);
    for (let point = 0; point < count; point++) {
      const centre = nearestCentre(points, point * numbers, numbers, centres);
      counts[centre]!++;
      for (let i = 0; i < numbers; i++) sums[centre * numbers + i]! += points[point * numbers + i]!;
    }
    for (let centre = 0; centre < centreCount; centre++) {
      if (counts[centre] === 0) continue;
      for (let i = 0; i < numbers; i++) {
        centres[i * centreCount + centre] = sums[centre * numbers + i]! / counts[centre]!;
      }
    }
    yield pause;
  }
  for (let centre = 0; centre < centreCount; centre++) {
    centres[numbers * centreCount + centre] = counts[centre]! / Math.max(1, count);
  }
}

/** First centres: points far from those before, by chance that grows with the square of the distance (k-means++). */
function spreadCentres(points: Float32Array, numbers: number, centres: Float32Array): void {
  const count = points.length / numbers;
  const apart = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  let chosen = 0;
  for (let centre = 0; centre < centreCount && count > 0; centre++) {
    for (let i = 0; i < numbers; i++) centres[i * centreCount + centre] = points[chosen * numbers + i]!;
    let total = 0;
    for (let point = 0; point < count; point++) {
      let squared = 0;
      for (let i = 0; i < numbers; i++) {
        squared += (points[point * numbers + i]! - points[chosen * numbers + i]!) ** 2;
      }
      if (squared < apart[point]!) apart[point] = squared;
      total += apart[point]!;
    }
    // A share of the whole that differs from centre to centre, the same in every build.
    let left = (((centre + 1) * goldenShare) % 1) * total;
    chosen = 0;
    while (chosen < count - 1 && left > apart[chosen]!) left -= apart[chosen++]!;
  }
}

const goldenShare = (Math.sqrt(5) - 1) / 2;
const pause = new Uint8Array(0);

function nearestCentre(points: Float32Array, at: number, numbers: number, centres: Float32Array): number {
  let nearest = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let centre = 0; centre < centreCount; centre++) {
    let squared = 0;
    for (let i = 0; i < numbers; i++) {
      const difference = points[at + i]! - centres[i * centreCount + centre]!;
      squared += difference * difference;
    }
    if (squared >= least) continue;
    least = squared;
    nearest = centre;
  }
  return nearest;
}

function bytesOf(numbers: Uint32Array | Float32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
