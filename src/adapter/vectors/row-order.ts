/**
 * The order in which rows enter a graph. Neighbours in the input are often alike (parts of one document, an import by topic):
 * in their own order such groups would link among themselves alone, and the last rows would tell nothing of the others. A step
 * of the golden ratio spreads them, and any run of slots is spread evenly over the rows.
 */
export class RowOrder {
  readonly rowCount: number;
  readonly #step: number;

  constructor(rowCount: number) {
    this.rowCount = rowCount;
    let step = Math.max(1, Math.round(rowCount * goldenShare));
    while (commonDivisor(step, rowCount) > 1) step++;
    this.#step = step;
  }

  /** The row that enters as number `slot`. */
  rowOf(slot: number): number {
    return (slot * this.#step) % this.rowCount;
  }

  /** The numbers of the rows in some slots. */
  rowsOf(rows: Float32Array, dim: number, from: number, to: number): Float32Array {
    const found = new Float32Array((to - from) * dim);
    for (let slot = from; slot < to; slot++) {
      const at = this.rowOf(slot) * dim;
      found.set(rows.subarray(at, at + dim), (slot - from) * dim);
    }
    return found;
  }
}

const goldenShare = (Math.sqrt(5) - 1) / 2;

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
