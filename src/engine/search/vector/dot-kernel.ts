import { homeOf, scratch, type WasmMemory } from "../index/shared-bytes.ts";
import { searchLimits } from "../limits.ts";

/** dots.wat in its binary form. */
const binary =
  "AGFzbQEAAAABCQFgBX9/f39/AAIIAQFlAW0CAAEDAgEABwgBBGRvdHMAAAqoAwGlAwMEfwR7AX0gACADQXBxQQJ0aiEGIAAgA0F8" +
  "cUECdGohByAAIANBAnRqIQUCQCACRQ0AA0D9DAAAAAAAAAAAAAAAAAAAAAAhCf0MAAAAAAAAAAAAAAAAAAAAACEK/QwAAAAAAAAA" +
  "AAAAAAAAAAAAIQv9DAAAAAAAAAAAAAAAAAAAAAAhDCAAIQgCQANAIAggBk8NASAJIAj9AAIAIAH9AAIA/eYB/eQBIQkgCiAI/QAC" +
  "ECAB/QACEP3mAf3kASEKIAsgCP0AAiAgAf0AAiD95gH95AEhCyAMIAj9AAIwIAH9AAIw/eYB/eQBIQwgCEHAAGohCCABQcAAaiEB" +
  "DAALCwJAA0AgCCAHTw0BIAkgCP0AAgAgAf0AAgD95gH95AEhCSAIQRBqIQggAUEQaiEBDAALCyAJIAr95AEgCyAM/eQB/eQBIQkg" +
  "Cf0fACAJ/R8BkiAJ/R8CIAn9HwOSkiENAkADQCAIIAVPDQEgDSAIKgIAIAEqAgCUkiENIAhBBGohCCABQQRqIQEMAAsLIAQgDTgC" +
  "ACAEQQRqIQQgAkEBayICDQALCws=";

/**
 * The same for a memory that threads share. In the binary only its import differs: section 2 of 8 bytes, that ends with
 * the limits (a flag and at least 1 page), becomes one of 11, with the flag for shared memory and at most 65,536 pages.
 */
const importAt = 19;
const sharedLimits = [0x03, 0x01, 0x80, 0x80, 0x04];

function moduleBytes(shared: boolean): Uint8Array {
  const plain = Buffer.from(binary, "base64");
  if (!shared) return plain;
  const sizeAt = importAt + 1;
  const limitsAt = sizeAt + 7;
  const bytes = Buffer.concat([plain.subarray(0, limitsAt), Buffer.from(sharedLimits), plain.subarray(limitsAt + 2)]);
  bytes[sizeAt] = plain[sizeAt]! + sharedLimits.length - 2;
  return bytes;
}

type Dots = (query: number, rows: number, count: number, dim: number, out: number) => void;

/** The part of WebAssembly used here; the configured libraries do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (size: { initial: number }) => WasmMemory;
  Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, unknown>> };
};

function dotsOn(memory: WasmMemory, shared: boolean): Dots {
  const module = new WebAssembly.Module(moduleBytes(shared));
  return new WebAssembly.Instance(module, { e: { m: memory } }).exports["dots"] as Dots;
}

/** Inner products by SIMD, in single precision: near enough to tell which rows need the exact one. */
export interface DotKernel {
  /** For all calls until it is set again, by whatever search. */
  setQuery(query: Float32Array): void;
  /** Rows that one call takes at most. */
  readonly rowsMax: number;
  /** Whether single rows can be looked up for little more than rows that lie together. */
  readonly inPlace: boolean;
  /** The products of the query with `count` rows from row `from` on; valid until the next call. */
  products(data: Float32Array, from: number, count: number): Float32Array;
}

/** Small enough to stay in a processor's own cache while it is copied and read. */
const chunkBytes = 64 * 1024;
const pageBytes = 65_536;

/**
 * Rows are copied through the module's memory in chunks and read 16 numbers at a time: 5 times as fast as the exact
 * loop over 10,000 rows of 128 numbers.
 */
class CopyingKernel implements DotKernel {
  readonly inPlace = false;
  readonly #dots: Dots;
  readonly #query: Float32Array;
  readonly #out: Float32Array;
  readonly #rows: Float32Array;
  #dim = 0;

  constructor() {
    const dimMax = searchLimits.vectorDimMax;
    const memory = new WebAssembly.Memory({ initial: Math.ceil((4 * dimMax + 2 * chunkBytes) / pageBytes) });
    this.#dots = dotsOn(memory, false);
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
    this.#dots(this.#query.byteOffset, this.#rows.byteOffset, count, dim, this.#out.byteOffset);
    return this.#out;
  }
}

/** Reads rows where they lie, in a memory that threads share; the thread's own slot has the query and the results. */
class InPlaceKernel implements DotKernel {
  readonly inPlace = true;
  readonly rowsMax = scratch.slotBytes / 4 - searchLimits.vectorDimMax;
  readonly #dots: Dots;
  readonly #query: Float32Array;
  readonly #out: Float32Array;
  #dim = 0;

  constructor(memory: WasmMemory, slot: number) {
    this.#dots = dotsOn(memory, true);
    const at = scratch.slotsFrom + slot * scratch.slotBytes;
    this.#query = new Float32Array(memory.buffer, at, searchLimits.vectorDimMax);
    this.#out = new Float32Array(memory.buffer, at + this.#query.byteLength, this.rowsMax);
  }

  setQuery(query: Float32Array): void {
    this.#dim = query.length;
    this.#query.set(query);
  }

  products(data: Float32Array, from: number, count: number): Float32Array {
    const dim = this.#dim;
    this.#dots(this.#query.byteOffset, data.byteOffset + from * dim * 4, count, dim, this.#out.byteOffset);
    return this.#out;
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
    const made = new InPlaceKernel(home, slot);
    placed.set(home, made);
    return made;
  }
  copying ??= new CopyingKernel();
  if (home !== undefined) placed.set(home, copying);
  return copying;
}
