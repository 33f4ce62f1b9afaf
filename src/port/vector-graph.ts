import type { SharedBytes } from "./shared-bytes.ts";

/**
 * A graph over the vectors of one sealed segment, or their short codes, for finding near ones without reading all. Rows are numbered from 0.
 */
export interface VectorGraphInput {
  /** All rows, one after another. Finite numbers. */
  readonly rows: Float32Array;
  readonly dim: number;
  readonly distance: "cosine" | "dot" | "l2";
}

/** Rows that a graph is asked for to find ten, unless measured otherwise. */
export const usualCandidates = 64;

/** Of so many of the nearest at least it is watched whether they change: of fewer that tells little. */
export const watchedMin = 16;

/** What was measured of a graph when it was built. */
export interface GraphQuality {
  /** How many times the usual number of rows to ask for, to find enough of the nearest. */
  readonly effort: number;
  /** The share of the ten nearest that it finds by then. */
  readonly recall: number;
}

export interface VectorGraph {
  readonly rowCount: number;
  readonly dim: number;
  /** How many times the usual number of rows to ask for, to be as sure of the nearest as in other graphs. */
  readonly effort: number;
  /** The share of the ten nearest that is found by then, where it was measured. */
  readonly recall: number | undefined;
  /** Of its file. */
  readonly bytes: number;
  /** What other threads can open it from, where it is in memory that they see. */
  readonly shared: SharedBytes | undefined;
  /**
   * About the `count` nearest rows, nearest first; the more are asked for, the more of the graph is explored and the
   * surer the nearest are among them. With `nearest` only so many of them count, and the graph may end the search where these
   * have not changed for a while. The caller has the vectors and scores the rows exactly. Undefined when the distances to this
   * query can't be told apart (a zero query under cosine, numbers out of range).
   */
  search(query: Float32Array, count: number, nearest?: number): Uint32Array | undefined;
  /**
   * About the `count` nearest of the rows whose bits are set in the given words, from the row of the first bit on, by
   * comparing all of them as the graph has them. Undefined where it can't. What compares all does so from row 0 on.
   */
  nearestOf(query: Float32Array, words: Uint32Array, firstRow: number, count: number): Uint32Array | undefined;
  /**
   * Only what compares short codes of all rows has it, where a filter costs nothing. How many of the rows that were found last may score
   * this much, as far as their codes tell; more than were found where others may as well.
   */
  reaching?(score: number): number;
  /** After this, search finds nothing. */
  close(): void;
}

export interface BuiltGraph {
  /** Of its file. */
  readonly bytes: number;
  /** Undefined where it has too few rows to tell. */
  readonly quality: GraphQuality | undefined;
}

export interface VectorGraphs {
  /**
   * Builds a graph in short steps and leaves it, synced, in a file that appears whole or not at all. Keeps one thread
   * busy: for a worker. Aborting rejects with the signal's reason and leaves nothing.
   */
  build(path: string, input: VectorGraphInput, signal?: AbortSignal): Promise<BuiltGraph>;
  /**
   * Opens a built graph. The file may be deleted or replaced by another while it is open, but never changed in place.
   * A file that is no whole graph is a VectorGraphError.
   */
  open(path: string, quality?: GraphQuality): Promise<VectorGraph>;
  /** Opens what another thread has in memory. */
  openShared(shared: SharedBytes, quality?: GraphQuality): VectorGraph;
}

export class VectorGraphError extends Error {
  /** `damaged`: the file can't be trusted and should be built again. `failed`: anything else. */
  readonly kind: "damaged" | "failed";

  constructor(kind: VectorGraphError["kind"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "VectorGraphError";
    this.kind = kind;
  }
}
