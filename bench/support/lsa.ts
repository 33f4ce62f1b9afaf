import { generator } from "../../test/support/vectors.ts";

/**
 * Vectors of texts from the texts alone (latent semantic analysis): a matrix of weighted word counts, cut down to its
 * strongest directions by a randomized singular value decomposition. Words that are used in the same documents come to
 * lie near each other, so that a text is found by words it does not hold.
 */
export interface LsaOptions {
  readonly dim: number;
  readonly seed: number;
  /** Documents that the directions are learned from, at most. */
  readonly learnMax: number;
}

/** Of BM25, which weighs the words. */
const k1 = 1.2;
const b = 0.75;
/**
 * How much rare words count in the documents and in what is asked. Above 1 in the documents: else the directions are
 * spent on frequent words, and a hybrid ranking is worse than that of the text alone.
 */
const documentRareness = 1.5;
const queryRareness = 1;

/** Directions beyond those wanted make the wanted ones more exact. */
const oversampling = 24;
const powerRounds = 3;

/** The terms of a text, each with its weight. */
type Weights = readonly (readonly [term: number, weight: number])[];

interface SparseRows {
  readonly starts: Uint32Array;
  readonly columns: Uint32Array;
  readonly values: Float32Array;
}

export class Lsa {
  readonly dim: number;
  readonly #terms: ReadonlyMap<string, number>;
  readonly #idf: Float64Array;
  readonly #averageLength: number;
  /** One row of `dim` numbers a term. */
  readonly #directions: Float64Array;

  /** Learns from documents given as their words. */
  constructor(documents: readonly (readonly string[])[], { dim, seed, learnMax }: LsaOptions) {
    const frequencies = new Map<string, number>();
    for (const words of documents) {
      for (const word of new Set(words)) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
    }
    // A word of one document tells nothing of which words go together.
    const kept = [...frequencies].filter(([, count]) => count > 1);
    this.#terms = new Map(kept.map(([word], i) => [word, i]));
    this.#idf = Float64Array.from(kept, ([, count]) => Math.log(1 + (documents.length - count + 0.5) / (count + 0.5)));
    this.#averageLength = documents.reduce((sum, words) => sum + words.length, 0) / documents.length;
    const every = Math.ceil(documents.length / learnMax);
    const learned = documents.filter((_, i) => i % every === 0).map((words) => this.#documentWeights(words));
    this.dim = Math.min(dim, kept.length, learned.length);
    this.#directions = strongestDirections(sparseRows(learned), kept.length, this.dim, seed);
  }

  /** A document's vector, to be compared with those of queries by inner product. */
  document(words: readonly string[]): Float32Array {
    return this.#projected(this.#documentWeights(words));
  }

  query(words: readonly string[]): Float32Array {
    return this.#projected(this.#counts(words).map(([term]) => [term, this.#idf[term]! ** queryRareness]));
  }

  #projected(weights: Weights): Float32Array {
    const { dim } = this;
    const sum = new Float64Array(dim);
    for (const [term, weight] of weights) {
      for (let d = 0; d < dim; d++) sum[d]! += weight * this.#directions[term * dim + d]!;
    }
    return Float32Array.from(sum);
  }

  #counts(words: readonly string[]): Weights {
    const counts = new Map<number, number>();
    for (const word of words) {
      const term = this.#terms.get(word);
      if (term !== undefined) counts.set(term, (counts.get(term) ?? 0) + 1);
    }
    return [...counts];
  }

  #documentWeights(words: readonly string[]): Weights {
    const damping = k1 * (1 - b + (b * words.length) / this.#averageLength);
    return this.#counts(words).map(([term, count]) => {
      return [term, ((count * (k1 + 1)) / (count + damping)) * this.#idf[term]! ** documentRareness];
    });
  }
}

function sparseRows(rows: readonly Weights[]): SparseRows {
  const starts = new Uint32Array(rows.length + 1);
  for (const [row, weights] of rows.entries()) starts[row + 1] = starts[row]! + weights.length;
  const flat = rows.flat();
  return {
    starts,
    columns: Uint32Array.from(flat, ([term]) => term),
    values: Float32Array.from(flat, ([, weight]) => weight),
  };
}

/** The strongest right singular vectors, as `dim` numbers a column of the matrix. */
function strongestDirections(rows: SparseRows, columnCount: number, dim: number, seed: number): Float64Array {
  const rowCount = rows.starts.length - 1;
  const width = Math.min(dim + oversampling, rowCount, columnCount);
  const random = generator(seed);
  let basis: Float64Array = Float64Array.from(
    { length: columnCount * width },
    () => random() + random() + random() - 1.5,
  );
  for (let round = 0; round <= powerRounds; round++) {
    const image = times(rows, basis, width);
    orthonormalize(image, rowCount, width);
    basis = transposedTimes(rows, image, width, columnCount);
    // The last image's product is B transposed, whose lengths are what is looked for.
    if (round < powerRounds) orthonormalize(basis, columnCount, width);
  }
  const { values, vectors } = symmetricEigen(gram(basis, columnCount, width), width);
  const order = Array.from(values.keys()).sort((a, b) => values[b]! - values[a]!);
  const out = new Float64Array(columnCount * dim);
  for (let d = 0; d < dim; d++) {
    const from = order[d]!;
    const scale = values[from]! > 1e-12 ? 1 / Math.sqrt(values[from]!) : 0;
    for (let c = 0; c < columnCount; c++) {
      let sum = 0;
      for (let j = 0; j < width; j++) sum += basis[c * width + j]! * vectors[j * width + from]!;
      out[c * dim + d] = sum * scale;
    }
  }
  return out;
}

function times({ starts, columns, values }: SparseRows, dense: Float64Array, width: number): Float64Array {
  const out = new Float64Array((starts.length - 1) * width);
  for (let row = 0; row + 1 < starts.length; row++) {
    for (let i = starts[row]!; i < starts[row + 1]!; i++) {
      const [from, to, value] = [columns[i]! * width, row * width, values[i]!];
      for (let j = 0; j < width; j++) out[to + j]! += value * dense[from + j]!;
    }
  }
  return out;
}

function transposedTimes(
  { starts, columns, values }: SparseRows,
  dense: Float64Array,
  width: number,
  columnCount: number,
): Float64Array {
  const out = new Float64Array(columnCount * width);
  for (let row = 0; row + 1 < starts.length; row++) {
    for (let i = starts[row]!; i < starts[row + 1]!; i++) {
      const [from, to, value] = [row * width, columns[i]! * width, values[i]!];
      for (let j = 0; j < width; j++) out[to + j]! += value * dense[from + j]!;
    }
  }
  return out;
}

/** The inner products of all columns with each other. */
function gram(dense: Float64Array, rowCount: number, width: number): Float64Array {
  const out = new Float64Array(width * width);
  for (let row = 0; row < rowCount; row++) {
    const at = row * width;
    for (let i = 0; i < width; i++) {
      const value = dense[at + i]!;
      for (let j = i; j < width; j++) out[i * width + j]! += value * dense[at + j]!;
    }
  }
  for (let i = 0; i < width; i++) for (let j = 0; j < i; j++) out[i * width + j] = out[j * width + i]!;
  return out;
}

/** Columns of length 1 that span the same, in place: by the factor of Cholesky of their inner products, twice for its rounding. */
function orthonormalize(dense: Float64Array, rowCount: number, width: number): void {
  for (let pass = 0; pass < 2; pass++) {
    const factor = cholesky(gram(dense, rowCount, width), width);
    for (let row = 0; row < rowCount; row++) {
      const at = row * width;
      for (let j = 0; j < width; j++) {
        let sum = dense[at + j]!;
        for (let i = 0; i < j; i++) sum -= dense[at + i]! * factor[j * width + i]!;
        dense[at + j] = factor[j * width + j] === 0 ? 0 : sum / factor[j * width + j]!;
      }
    }
  }
}

/** Lower triangle; a column that depends on those before it gets 0. */
function cholesky(matrix: Float64Array, width: number): Float64Array {
  const factor = new Float64Array(width * width);
  for (let i = 0; i < width; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i * width + j]!;
      for (let k = 0; k < j; k++) sum -= factor[i * width + k]! * factor[j * width + k]!;
      if (i === j) factor[i * width + i] = sum > 1e-12 * matrix[i * width + i]! ? Math.sqrt(sum) : 0;
      else factor[i * width + j] = factor[j * width + j] === 0 ? 0 : sum / factor[j * width + j]!;
    }
  }
  return factor;
}

/** Eigenvalues, and the eigenvectors as columns, by Jacobi's rotations. */
function symmetricEigen(given: Float64Array, n: number): { values: Float64Array; vectors: Float64Array } {
  const a = given.slice();
  const vectors = new Float64Array(n * n);
  for (let i = 0; i < n; i++) vectors[i * n + i] = 1;
  const scale = a.reduce((sum, value) => sum + value * value, 0);
  for (let sweep = 0; sweep < 30; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++) for (let q = 0; q < p; q++) off += a[p * n + q]! ** 2;
    if (off <= 1e-20 * scale) break;
    for (let p = 0; p < n - 1; p++) for (let q = p + 1; q < n; q++) rotate(a, vectors, n, p, q);
  }
  return { values: Float64Array.from({ length: n }, (_, i) => a[i * n + i]!), vectors };
}

function rotate(a: Float64Array, vectors: Float64Array, n: number, p: number, q: number): void {
  const apq = a[p * n + q]!;
  if (apq === 0) return;
  const theta = (a[q * n + q]! - a[p * n + p]!) / (2 * apq);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (let k = 0; k < n; k++) {
    const [kp, kq] = [a[k * n + p]!, a[k * n + q]!];
    a[k * n + p] = c * kp - s * kq;
    a[k * n + q] = s * kp + c * kq;
  }
  for (let k = 0; k < n; k++) {
    const [pk, qk] = [a[p * n + k]!, a[q * n + k]!];
    a[p * n + k] = c * pk - s * qk;
    a[q * n + k] = s * pk + c * qk;
    const [vp, vq] = [vectors[k * n + p]!, vectors[k * n + q]!];
    vectors[k * n + p] = c * vp - s * vq;
    vectors[k * n + q] = s * vp + c * vq;
  }
}
