import { allocateShared, viewShared, wasmBytesMin } from "../../../port/shared-bytes.ts";
import type { VectorSpec } from "../../schema/schema.ts";
import { inverseNorm } from "../vector/distance.ts";
import { copySketch, type RowSketch, sketchDimMin, sketchRow, sketchStride } from "../vector/sketch.ts";
import { F64List, U32List } from "./growable.ts";
import type { VectorRows } from "./reader.ts";

const noRow = 0xffffffff;
const rowsMin = 16;
/** Of a row beside its vector and its sketch: three numbers of 8 bytes and one of 4. */
const sketchNumbersBytes = 28;

/** The vectors of one field in the tail, from some size on in a memory in which SIMD code can work, with a sketch. */
export class TailVectors implements VectorRows {
  readonly dim: number;
  readonly distance: VectorSpec["distance"];
  data: Float32Array = new Float32Array(0);
  sketch: RowSketch | undefined;
  readonly #docs = new U32List();
  readonly #rows = new U32List();
  readonly #inverseNorms = new F64List();

  readonly #isSearched: boolean;

  /** `isSearched`: it is kept where searches are fast; what is only collected to be written needs no sketch. */
  constructor(spec: VectorSpec, isSearched = true) {
    this.dim = spec.dim;
    this.distance = spec.distance;
    this.#isSearched = isSearched;
  }

  add(vector: Float32Array | undefined): void {
    const doc = this.#rows.length;
    if (vector === undefined) {
      this.#rows.push(noRow);
      return;
    }
    const row = this.#docs.length;
    const end = (row + 1) * this.dim;
    if (end > this.data.length) this.#grow(Math.max(rowsMin, 2 * row));
    this.data.set(vector, end - this.dim);
    this.#rows.push(row);
    this.#docs.push(doc);
    this.#inverseNorms.push(inverseNorm(vector));
    if (this.sketch !== undefined) this.#sketchRow(this.sketch, row);
  }

  get rowCount(): number {
    return this.#docs.length;
  }

  get docs(): Uint32Array {
    return this.#docs.data;
  }

  get inverseNorms(): Float64Array {
    return this.#inverseNorms.data;
  }

  get bytes(): number {
    const sketched = this.sketch === undefined ? 0 : this.sketch.stride + sketchNumbersBytes;
    return this.rowCount * (4 * this.dim + 16 + sketched);
  }

  rowOf(doc: number): number {
    const row = this.#rows.data[doc]!;
    return row === noRow ? -1 : row;
  }

  /** Makes room for so many rows. What was there stays as it is for searches that are under way. */
  #grow(rows: number): void {
    const before = this.data.subarray(0, this.rowCount * this.dim);
    const sketched = this.sketch;
    const isLarge = this.#isSearched && rows * this.dim * 4 >= wasmBytesMin;
    if (!isLarge || !this.#growShared(rows)) {
      this.data = new Float32Array(rows * this.dim);
      this.sketch = undefined;
    }
    this.data.set(before);
    if (this.sketch === undefined) return;
    if (sketched === undefined) for (let row = 0; row < this.rowCount; row++) this.#sketchRow(this.sketch, row);
    else copySketch(sketched, this.sketch, this.rowCount);
  }

  /** Numbers of 8 bytes come first, then those of 4 and of 1, so that all are aligned. False when there is no room. */
  #growShared(rows: number): boolean {
    const { dim } = this;
    const stride = dim < sketchDimMin ? 0 : sketchStride(dim);
    const perRow = stride === 0 ? 4 * dim : sketchNumbersBytes + 4 * dim + stride;
    let memory: Uint8Array;
    try {
      memory = viewShared(allocateShared(rows * perRow));
    } catch {
      // Out of addresses: what is searched more slowly is still searched.
      return false;
    }
    const { buffer, byteOffset } = memory;
    if (stride === 0) {
      this.data = new Float32Array(buffer, byteOffset, rows * dim);
      return true;
    }
    const numbers = (i: number) => new Float64Array(buffer, byteOffset + i * 8 * rows, rows);
    const [factors, margins, norms] = [numbers(0), numbers(1), numbers(2)];
    const sums = new Int32Array(buffer, byteOffset + 24 * rows, rows);
    const dataAt = byteOffset + sketchNumbersBytes * rows;
    this.data = new Float32Array(buffer, dataAt, rows * dim);
    const sketched = new Int8Array(buffer, dataAt + 4 * rows * dim, rows * stride);
    this.sketch = { stride, rows: sketched, factors, margins, norms, sums };
    return true;
  }

  #sketchRow(sketch: RowSketch, row: number): void {
    sketchRow(sketch, row, this.data, this.dim, this.distance, this.#inverseNorms.data[row]!);
  }
}
