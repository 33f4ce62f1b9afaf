import { threadId } from "node:worker_threads";
import {
  allocateShared,
  homeOf,
  type SharedBytes,
  viewShared,
  type WasmMemory,
  wasmBytesMin,
} from "../../port/shared-bytes.ts";
import { VectorGraphError } from "../../port/vector-graph.ts";
import { encodeFooter, type Footer, footerBytes } from "./footer.ts";

/** Threads that can search a graph; one more searches without it. */
const threadsMax = 32;

/** What needs more can't be in a memory of WebAssembly, which has 4 GiB. */
export const memoryBytesMax = 4 * 1024 * 1024 * 1024 - 64 * 1024 * 1024;

/** Of every graph in memory: u32. */
export const headBytes = 32;
/**
 * What the shared memory begins with: the footer, so that other threads find all they need. The graph follows it; what comes after its
 * head is at a multiple of 64: rows whose length is a multiple of 64 too lie in fewer cache lines (0.89 to 0.96 of the time of a walk).
 */
export const graphAt = roundUp(footerBytes + headBytes) - headBytes;

/** How much memory a graph takes, and each thread that searches it. */
export interface GraphSizes {
  readonly graphBytes: number;
  readonly roomBytes: number;
}

export function memoryBytesOf({ graphBytes, roomBytes }: GraphSizes): number {
  return roundUp(graphAt + graphBytes) + roundUp(roomBytes) * threadsMax;
}

/** Memory for a graph and for those who search it; undefined where WebAssembly has none of this size. */
export function graphMemory(footer: Footer, sizes: GraphSizes): { shared: SharedBytes; graph: Uint8Array } | undefined {
  const { graphBytes } = sizes;
  if (graphBytes !== footer.graphBytes) {
    throw new VectorGraphError("damaged", "a graph's size is not what its head says");
  }
  const bytes = memoryBytesOf(sizes);
  if (bytes > memoryBytesMax) return undefined;
  const allocated = allocateShared(Math.max(wasmBytesMin, bytes));
  if (allocated.home instanceof SharedArrayBuffer) return undefined;
  // Of the rooms behind it, no more takes memory than is used.
  const shared = { ...allocated, length: graphAt + graphBytes };
  const view = viewShared(shared);
  view.set(encodeFooter(footer));
  return { shared, graph: view.subarray(graphAt, graphAt + graphBytes) };
}

export function roundUp(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}

/** The place of this thread among those that search a graph: the one it has had, or a free one. */
function placeOf(threads: Int32Array): number | undefined {
  // The first thread has the number 0, which stands for nobody here.
  const own = threadId + 1;
  const known = threads.indexOf(own);
  if (known !== -1) return known;
  for (let place = 0; place < threads.length; place++) {
    if (Atomics.compareExchange(threads, place, 0, own) === 0) return place;
  }
  return undefined;
}

/** What this thread searches graphs with, one for each memory, however often it opens it. */
export class Searchers<T> {
  readonly #known = new WeakMap<WasmMemory, T>();

  /** Undefined where too many threads search the graph already. `make` gets where the graph and the thread's room begin. */
  of(
    shared: SharedBytes,
    { graphBytes, roomBytes }: GraphSizes,
    make: (home: WasmMemory, graph: number, room: number) => T,
  ): T | undefined {
    const home = homeOf(viewShared(shared).buffer);
    if (home === undefined) return undefined;
    const known = this.#known.get(home);
    if (known !== undefined) return known;
    const place = placeOf(new Int32Array(home.buffer, 0, threadsMax));
    if (place === undefined) return undefined;
    const room = shared.offset + roundUp(graphAt + graphBytes) + place * roundUp(roomBytes);
    const made = make(home, shared.offset + graphAt, room);
    this.#known.set(home, made);
    return made;
  }
}
