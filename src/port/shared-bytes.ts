/** The part of WebAssembly used here; the configured libraries do not declare it. */
export interface WasmMemory {
  readonly buffer: ArrayBufferLike;
}

declare const WebAssembly: {
  Memory: new (size: { initial: number; maximum: number; shared: boolean }) => WasmMemory;
};

/** Bytes that several threads see at one place: posting them to another thread copies nothing. */
export interface SharedBytes {
  readonly home: WasmMemory | SharedArrayBuffer;
  readonly offset: number;
  readonly length: number;
}

/** What is loaded of a collection's segments and their graphs, by the path of each. */
export type SharedSegments = Readonly<Record<string, SharedBytes>>;

const pageBytes = 65_536;
const pagesMax = 65_536;
/** Smaller ones are not worth a memory of WebAssembly, which takes gigabytes of addresses. */
export const wasmBytesMin = 1024 * 1024;

/**
 * What a memory begins with, so that code can work on what follows it in place: two counters of the threads that do, for vectors and
 * for text, and for each of them room for its query and its results. No more of it takes memory than is used.
 */
export const scratch = { slots: 16, slotsFrom: 64, slotBytes: 32 * 1024, textBytes: 96 * 1024 } as const;
const scratchBytes = scratch.slotsFrom + scratch.slots * (scratch.slotBytes + scratch.textBytes);
const headBytes = Math.ceil(scratchBytes / pageBytes) * pageBytes;

export function allocateShared(length: number): SharedBytes {
  const pages = Math.ceil((headBytes + length) / pageBytes);
  if (length < wasmBytesMin || pages > pagesMax) {
    return { home: new SharedArrayBuffer(length), offset: 0, length };
  }
  return { home: new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }), offset: headBytes, length };
}

const homes = new WeakMap<ArrayBufferLike, WasmMemory>();

export function viewShared({ home, offset, length }: SharedBytes): Uint8Array {
  if (home instanceof SharedArrayBuffer) return new Uint8Array(home, offset, length);
  homes.set(home.buffer, home);
  return new Uint8Array(home.buffer, offset, length);
}

/** The memory that a buffer belongs to, when SIMD code can work on it in place. */
export function homeOf(buffer: ArrayBufferLike): WasmMemory | undefined {
  return homes.get(buffer);
}
