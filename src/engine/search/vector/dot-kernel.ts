import { homeOf, scratch, type WasmMemory } from "../../../port/shared-bytes.ts";
import { searchLimits } from "../limits.ts";
import { dotKernelBinary } from "./dot-kernel-binary.ts";
import type { RowSketch, SketchQuery } from "./sketch.ts";

interface Dots {
  readonly dots: (query: number, rows: number, count: number, dim: number, out: number) => void;
  readonly dotsOf: (query: number, rows: number, list: number, count: number, dim: number) => void;
  readonly prepareSift: (
    coarseScale: number,
    coarseLength: number,
    coarseError: number,
    scale: number,
    length: number,
    error: number,
    bend: number,
    minimum: number,
  ) => void;
  readonly sift: (
    coarse: number,
    query: number,
    rows: number,
    stride: number,
    factors: number,
    margins: number,
    norms: number,
    sums: number,
    from: number,
    count: number,
    out: number,
  ) => number;
}

/** The part of WebAssembly used here; the configured libraries do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (size: { initial: number; maximum: number; shared: boolean }) => WasmMemory;
  Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

let module: object | undefined;

function dotsOn(memory: WasmMemory): Dots {
  module ??= new WebAssembly.Module(Buffer.from(dotKernelBinary, "base64"));
  return new WebAssembly.Instance(module, { env: { memory } }).exports as Dots;
}

/** Inner products by SIMD, in single precision: near enough to tell which rows need the exact one. */
export interface DotKernel {
  /** For all calls until it is set again, by whatever search. */
  setQuery(query: Float32Array): void;
  /** Rows that one call takes at most. */
  readonly rowsMax: number;
  /** The products of the query with `count` rows from row `from` on; valid until the next call. */
  products(data: Float32Array, from: number, count: number): Float32Array;
  /** The same for the rows that a list begins with, where they can be read in place; else undefined. */
  productsOf(data: Float32Array, list: Uint32Array, count: number): Float32Array | undefined;
  /**
   * Which rows of a sketch may reach the product needed: their numbers into `kept`, and how many. Undefined where they
   * can't be read in place.
   */
  sift(
    sketch: RowSketch,
    query: SketchQuery,
    needed: number,
    from: number,
    count: number,
    kept: Uint32Array,
  ): number | undefined;
}

/** Rows that are sifted at once. */
export const siftRowsMax = 1024;

/** Small enough to stay in a processor's own cache while it is copied and read. */
const chunkBytes = 64 * 1024;
const pageBytes = 65_536;

/**
 * Rows are copied through the module's memory in chunks and read four rows at a time: several times as fast as the exact
 * loop.
 */
class CopyingKernel implements DotKernel {
  readonly #dots: Dots;
  readonly #query: Float32Array;
  readonly #out: Float32Array;
  readonly #rows: Float32Array;
  #dim = 0;

  constructor() {
    const dimMax = searchLimits.vectorDimMax;
    const pages = Math.ceil((4 * dimMax + 2 * chunkBytes) / pageBytes);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    this.#dots = dotsOn(memory);
    this.#query = new Float32Array(memory.buffer, 0, dimMax);
    this.#out = new Float32Array(memory.buffer, this.#query.byteLength, chunkBytes / 4);
    this.#rows = new Float32Array(memory.buffer, this.#query.byteLength + chunkBytes, chunkBytes / 4);
  }

  setQuery(query: Float32Array): void {
    this.#dim = query.length;
    this.#query.set(query);
  }

  get rowsMax(): number {
    return Math.floor(chunkBytes / (4 * this.#dim));
  }

  products(data: Float32Array, from: number, count: number): Float32Array {
    const dim = this.#dim;
    this.#rows.set(data.subarray(from * dim, (from + count) * dim));
    this.#dots.dots(this.#query.byteOffset, this.#rows.byteOffset, count, dim, this.#out.byteOffset);
    return this.#out;
  }

  productsOf(): undefined {
    return undefined;
  }

  sift(): undefined {
    return undefined;
  }
}

/** Reads rows where they lie, in a memory that threads share; the thread's own slot has the query and the results. */
class InPlaceKernel implements DotKernel {
  readonly rowsMax = scratch.slotBytes / 4 - searchLimits.vectorDimMax;
  readonly #dots: Dots;
  readonly #query: Float32Array;
  readonly #out: Float32Array;
  /** The same memory: a row's number makes way for its product. */
  readonly #list: Uint32Array;
  /** The query for sketches, behind the rows that one call sifts. */
  readonly #sketched: Int16Array;
  readonly #coarse: Uint8Array;
  #dim = 0;

  constructor(memory: WasmMemory, slot: number) {
    this.#dots = dotsOn(memory);
    const at = scratch.slotsFrom + slot * scratch.slotBytes;
    this.#query = new Float32Array(memory.buffer, at, searchLimits.vectorDimMax);
    this.#out = new Float32Array(memory.buffer, at + this.#query.byteLength, this.rowsMax);
    this.#list = new Uint32Array(memory.buffer, this.#out.byteOffset, this.rowsMax);
    const sketchedAt = this.#out.byteOffset + siftRowsMax * 4;
    this.#sketched = new Int16Array(memory.buffer, sketchedAt, searchLimits.vectorDimMax);
    const coarseAt = sketchedAt + this.#sketched.byteLength;
    this.#coarse = new Uint8Array(memory.buffer, coarseAt, searchLimits.vectorDimMax);
  }

  setQuery(query: Float32Array): void {
    this.#dim = query.length;
    this.#query.set(query);
  }

  products(data: Float32Array, from: number, count: number): Float32Array {
    const dim = this.#dim;
    this.#dots.dots(this.#query.byteOffset, data.byteOffset + from * dim * 4, count, dim, this.#out.byteOffset);
    return this.#out;
  }

  productsOf(data: Float32Array, list: Uint32Array, count: number): Float32Array {
    for (let i = 0; i < count; i++) this.#list[i] = list[i]!;
    this.#dots.dotsOf(this.#query.byteOffset, data.byteOffset, this.#out.byteOffset, count, this.#dim);
    return this.#out;
  }

  sift(
    sketch: RowSketch,
    { coarse, fine, bend }: SketchQuery,
    needed: number,
    from: number,
    count: number,
    kept: Uint32Array,
  ): number {
    const { stride, rows, factors, margins, norms, sums } = sketch;
    this.#sketched.set(fine.values);
    this.#coarse.set(coarse.values);
    this.#dots.prepareSift(
      coarse.scale,
      coarse.length,
      coarse.error,
      fine.scale,
      fine.length,
      fine.error,
      bend,
      needed,
    );
    const found = this.#dots.sift(
      this.#coarse.byteOffset,
      this.#sketched.byteOffset,
      rows.byteOffset,
      stride,
      factors.byteOffset,
      margins.byteOffset,
      norms.byteOffset,
      sums.byteOffset,
      from,
      count,
      this.#list.byteOffset,
    );
    for (let i = 0; i < found; i++) kept[i] = this.#list[i]!;
    return found;
  }
}

let copying: CopyingKernel | undefined;
const placed = new WeakMap<WasmMemory, DotKernel>();

/** The kernel for rows that lie in `data`. Each is made once for the thread: making one takes 0.1 ms. */
export function dotKernel(data: Float32Array): DotKernel {
  const home = homeOf(data.buffer);
  const known = home === undefined ? copying : placed.get(home);
  if (known !== undefined) return known;
  const slot = home === undefined ? scratch.slots : Atomics.add(new Int32Array(home.buffer, 0, 1), 0, 1);
  if (home !== undefined && slot < scratch.slots) {
    const kernel = new InPlaceKernel(home, slot);
    placed.set(home, kernel);
    return kernel;
  }
  copying ??= new CopyingKernel();
  if (home !== undefined) placed.set(home, copying);
  return copying;
}
