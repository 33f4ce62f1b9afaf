import { centreCount } from "./codes-file.ts";

/** What a query has to do with the errors of codes. */
export interface QueryErrors {
  /** Its product with the mean of the rows, how far it is from that, squared, and how much of the errors lies along it, squared. */
  readonly along: number;
  readonly squared: number;
  readonly error: number;
}

export interface ExpectedError {
  readonly bias: number;
  readonly variance: number;
}

/**
 * How far the distance to a row's code is from the distance to the row. A row's error points away from the mean of the rows, on the mean, as
 * its centres lie nearer to the middle than it does. So the codes of rows on the query's side are further than the rows: by all of the error
 * where the query is the row. What is left of the error points anywhere.
 */
export class CodeErrors {
  /** How far rows are from their mean, squared. */
  readonly spread: number;
  readonly #mean: Float64Array;
  readonly #errors: Float64Array;
  /** Of a row: the sum of its errors, and the variance of that. */
  readonly #error: number;
  readonly #variance: number;
  /** The error along a way from row to row. */
  readonly #between: number;

  constructor(centres: Float32Array, stored: Float32Array, numbers: number) {
    const dim = stored.length - 1;
    // Copies: numbers of shared memory take longer to read.
    this.#errors = Float64Array.from(stored.subarray(0, dim));
    this.#variance = stored[dim]!;
    this.#mean = new Float64Array(dim);
    let [spread, error, between] = [0, 0, 0];
    for (let i = 0; i < dim; i++) {
      const part = Math.floor(i / numbers) * (numbers + 1) * centreCount;
      let [mean, squared] = [0, 0];
      for (let centre = 0; centre < centreCount; centre++) {
        const share = centres[part + numbers * centreCount + centre]!;
        const value = centres[part + (i % numbers) * centreCount + centre]!;
        mean += share * value;
        squared += share * value * value;
      }
      const ofNumber = squared - mean * mean + this.#errors[i]!;
      this.#mean[i] = mean;
      spread += ofNumber;
      error += this.#errors[i]!;
      between += ofNumber * this.#errors[i]!;
    }
    this.spread = spread;
    this.#error = error;
    this.#between = spread === 0 ? 0 : between / spread;
  }

  of(query: Float32Array): QueryErrors {
    const mean = this.#mean;
    let [along, squared, error] = [0, 0, 0];
    for (let i = 0; i < query.length; i++) {
      const value = query[i]!;
      const apart = value - mean[i]!;
      along += value * mean[i]!;
      squared += apart * apart;
      error += value * value * this.#errors[i]!;
    }
    return { along, squared, error };
  }

  /** Of a row with this product. */
  ofProduct(product: number, { along, error }: QueryErrors): ExpectedError {
    const side = Math.min(sideMax, Math.max(0, (product - along) / this.spread)) || 0;
    return { bias: side * this.#error, variance: error + side * side * this.#variance };
  }

  /** Of a row so far away, squared. */
  ofSquared(distance: number, { squared }: QueryErrors): ExpectedError {
    const side = Math.min(1, Math.max(0, (squared + this.spread - distance) / (2 * this.spread))) || 0;
    const share = 2 * side - 1;
    return { bias: share * this.#error, variance: 4 * distance * this.#between + share * share * this.#variance };
  }
}

/** Of a row that is longer than others, more of the error lies on the query's side. */
const sideMax = 2;
