import assert from "node:assert/strict";
import { type SharedBytes, viewShared, type WasmMemory } from "../../port/shared-bytes.ts";
import { type GraphQuality, type VectorGraph, VectorGraphError } from "../../port/vector-graph.ts";
import { decodeFooter, type Footer, footerBytes } from "./footer.ts";
import { type GraphSizes, graphAt, headBytes, memoryBytesOf, Searchers } from "./graph-memory.ts";
import { bentEffort, scaleQuery } from "./scale.ts";
import { walkBinary } from "./walk-binary.ts";
import { type WalkLayout, walkLayout } from "./walk-file.ts";

/** The part of WebAssembly used here; the configured libraries do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

interface Walk {
  readonly setQuery: (halved: number, query: number, unit: number, weight: number, sum: number) => void;
  readonly walk: (
    rows: number,
    rowBytes: number,
    links: number,
    width: number,
    upper: number,
    upperWidth: number,
    entry: number,
    levels: number,
    visited: number,
    visitedBytes: number,
    fresh: number,
    candidates: number,
    candidatesMax: number,
    results: number,
    wanted: number,
    best: number,
    nearest: number,
    patience: number,
  ) => number;
  readonly nearestOf: (
    rows: number,
    rowBytes: number,
    words: number,
    wordCount: number,
    firstRow: number,
    fresh: number,
    results: number,
    wanted: number,
  ) => number;
}

let module: object | undefined;

/** Rows that a walk gathers at most, of a small graph and of a large one. */
const wantedMin = 4_096;
const wantedShare = 1 / 16;
/** Of more than so many of the nearest it is not watched whether they change. */
const watchedMax = 1_024;
/** Rows that are followed at least, besides a share of the candidates, while the nearest stay the same: a few groups of alike rows. */
const patienceMin = 48;

/** What a thread works with: its query, the links of a row and their scores, candidates, results, the best of them, a bit for each row. */
function roomOf(rowCount: number, rowBytes: number, width: number) {
  const wantedMax = Math.max(wantedMin, Math.ceil(rowCount * wantedShare));
  const candidatesMax = 2 * wantedMax + 1;
  // A query for rows of 4 bits has two parts, each as long as a row.
  const freshAt = 2 * rowBytes;
  const candidatesAt = freshAt + (width + 4) * 8;
  const resultsAt = candidatesAt + candidatesMax * 8;
  const bestAt = resultsAt + wantedMax * 8;
  const visitedAt = bestAt + watchedMax * 8;
  const visitedBytes = Math.ceil(rowCount / 32) * 4;
  const bytes = Math.ceil((visitedAt + visitedBytes) / 64) * 64;
  return { wantedMax, candidatesMax, freshAt, candidatesAt, resultsAt, bestAt, visitedAt, visitedBytes, bytes };
}

/** What a graph and those who walk it need at most; usearch gives a row twice as many links on the lowest level. */
export function walkBytesOf(rowCount: number, dim: number, connectivity: number): number {
  // Fewer than one row in eight has upper links, on all levels together.
  const head = Uint32Array.of(2 * connectivity, connectivity, 0, 0, Math.ceil(rowCount / 8) * connectivity);
  return memoryBytesOf(sizesOf(walkLayout(head, rowCount, dim, 8), rowCount));
}

export function walkSizes({ rowCount, dim, bits }: Footer, head: Uint32Array): GraphSizes {
  return sizesOf(walkLayout(head, rowCount, dim, bits), rowCount);
}

function sizesOf({ bytes, rowBytes, width }: WalkLayout, rowCount: number): GraphSizes {
  return { graphBytes: bytes, roomBytes: roomOf(rowCount, rowBytes, width).bytes };
}

/** A graph in memory that threads share, with rows of 8 bits a number (half the time and two thirds of the size of usearch's), or 4. */
export class WalkedGraph implements VectorGraph {
  readonly rowCount: number;
  readonly dim: number;
  readonly effort: number;
  readonly recall: number | undefined;
  readonly bytes: number;
  readonly shared: SharedBytes;
  readonly #footer: Footer;
  readonly #layout: WalkLayout;
  #walker: Walker | undefined;

  /** Of memory that `graphMemory` made and that has been filled. */
  constructor(shared: SharedBytes, quality: GraphQuality | undefined) {
    const bytes = viewShared(shared);
    const footer = decodeFooter(Buffer.from(bytes.subarray(0, footerBytes)));
    assert(footer !== undefined, "the memory begins with the footer");
    this.rowCount = footer.rowCount;
    this.dim = footer.dim;
    this.effort = quality?.effort ?? (footer.bent ? bentEffort : 1);
    this.recall = quality?.recall;
    this.bytes = footer.graphBytes + footerBytes;
    this.shared = shared;
    this.#footer = footer;
    const head = new Uint32Array(bytes.buffer, bytes.byteOffset + graphAt, headBytes / 4);
    this.#layout = walkLayout(head, footer.rowCount, footer.dim, footer.bits);
    const layout = this.#layout;
    this.#walker = walkers.of(
      shared,
      walkSizes(footer, head),
      (home, graph, room) => new Walker(home, graph, room, layout, footer),
    );
  }

  search(query: Float32Array, count: number, nearest?: number): Uint32Array | undefined {
    const scaled = this.#scaled(query);
    return scaled && this.#walker?.search(scaled, Math.min(count, this.rowCount), nearest);
  }

  nearestOf(query: Float32Array, words: Uint32Array, firstRow: number, count: number): Uint32Array | undefined {
    // What is near where lengths are drawn together is not what is nearest.
    const scaled = this.#footer.bent ? undefined : this.#scaled(query);
    return scaled && this.#walker?.nearestOf(scaled, words, firstRow, count);
  }

  #scaled(query: Float32Array): Float32Array | undefined {
    if (query.length !== this.dim) throw new VectorGraphError("failed", `the query has ${query.length} numbers`);
    return scaleQuery(query, this.#footer.distance, this.#footer);
  }

  close(): void {
    this.#walker = undefined;
  }
}

/**
 * For rows of 8 bits, numbers of the query are from 0 to 127 around 64: what one instruction multiplies with 8 bits. For rows of 4
 * bits they have 8.
 */
const queryMiddle = 64;
/** What the numbers of such rows stand around. */
const numberMiddle = 7.5;
const queryMax = { 4: 127, 8: 63 } as const;

/** One thread's way through one graph. */
class Walker {
  readonly #code: Walk;
  readonly #layout: WalkLayout;
  readonly #room: ReturnType<typeof roomOf>;
  readonly #graphAt: number;
  readonly #roomAt: number;
  readonly #query: Uint8Array;
  readonly #isL2: boolean;
  readonly #patience: number;
  readonly #centre: Float32Array;
  readonly #centreSquared: number;
  /** Score and row of each. */
  readonly #results: Uint32Array;
  /** A bit for each row: those that a walk has been at, or those to compare. */
  readonly #words: Uint32Array;

  constructor(home: WasmMemory, graphAt: number, roomAt: number, layout: WalkLayout, footer: Footer) {
    module ??= new WebAssembly.Module(Buffer.from(walkBinary, "base64"));
    this.#code = new WebAssembly.Instance(module, { env: { memory: home } }).exports as Walk;
    this.#layout = layout;
    this.#graphAt = graphAt;
    this.#room = roomOf(footer.rowCount, layout.rowBytes, layout.width);
    this.#roomAt = roomAt;
    this.#query = new Uint8Array(home.buffer, this.#roomAt, 2 * layout.rowBytes);
    this.#isL2 = footer.distance === "l2";
    this.#patience = footer.patience;
    // A copy of its own: numbers of shared memory take longer to read.
    this.#centre = new Float32Array(home.buffer, graphAt + layout.centreAt, footer.dim).slice();
    this.#centreSquared = product(this.#centre, this.#centre);
    this.#results = new Uint32Array(home.buffer, this.#roomAt + this.#room.resultsAt, this.#room.wantedMax * 2);
    this.#words = new Uint32Array(home.buffer, this.#roomAt + this.#room.visitedAt, this.#room.visitedBytes / 4);
  }

  search(query: Float32Array, count: number, nearest: number | undefined): Uint32Array {
    const wanted = Math.min(count, this.#room.wantedMax);
    if (wanted === 0) return new Uint32Array(0);
    const isWatched = nearest !== undefined && nearest <= watchedMax && this.#patience > 0;
    const watched = isWatched ? Math.min(wanted, nearest) : 0;
    this.#setQuery(query);
    const { rowsAt, rowBytes, linksAt, width, upperAt, upperWidth, entry, levels } = this.#layout;
    const { freshAt, candidatesAt, candidatesMax, resultsAt, bestAt, visitedAt, visitedBytes } = this.#room;
    const found = this.#code.walk(
      this.#graphAt + rowsAt,
      rowBytes,
      this.#graphAt + linksAt,
      width,
      this.#graphAt + upperAt,
      upperWidth,
      entry,
      levels,
      this.#roomAt + visitedAt,
      visitedBytes,
      this.#roomAt + freshAt,
      this.#roomAt + candidatesAt,
      candidatesMax,
      this.#roomAt + resultsAt,
      wanted,
      this.#roomAt + bestAt,
      watched,
      patienceMin + Math.ceil((wanted * this.#patience) / 100),
    );
    return this.#found(found);
  }

  /** Undefined where that are more than there is room for. */
  nearestOf(query: Float32Array, words: Uint32Array, firstRow: number, count: number): Uint32Array | undefined {
    const { wantedMax, candidatesAt, resultsAt } = this.#room;
    if (count > wantedMax || words.length > this.#words.length) return undefined;
    this.#setQuery(query);
    this.#words.set(words);
    const found = this.#code.nearestOf(
      this.#graphAt + this.#layout.rowsAt,
      this.#layout.rowBytes,
      this.#words.byteOffset,
      words.length,
      firstRow,
      this.#roomAt + candidatesAt,
      this.#roomAt + resultsAt,
      count,
    );
    return this.#found(found);
  }

  #found(count: number): Uint32Array {
    const rows = new Uint32Array(count);
    for (let i = 0; i < count; i++) rows[i] = this.#results[2 * i + 1]!;
    return rows;
  }

  /**
   * Takes the centre off the query as well: by l2 all of it, else as much of it as the query has, since what is left over is
   * the same for all rows.
   */
  #setQuery(query: Float32Array): void {
    const centre = this.#centre;
    const { bits, rowBytes } = this.#layout;
    const share = this.#isL2 ? 1 : this.#centreSquared === 0 ? 0 : product(query, centre) / this.#centreSquared;
    let max = 0;
    for (let i = 0; i < query.length; i++) {
      const size = Math.abs(query[i]! - share * centre[i]!);
      if (size > max) max = size;
    }
    const perUnit = max === 0 ? 0 : queryMax[bits] / max;
    const half = bits === 4 ? Math.ceil(query.length / 2) : query.length;
    const middle = bits === 4 ? 0 : queryMiddle;
    let sum = 0;
    for (let i = 0; i < query.length; i++) {
      const short = Math.round((query[i]! - share * centre[i]!) * perUnit);
      sum += short;
      this.#query[i < half ? i : rowBytes + i - half] = short + middle;
    }
    const unit = max / queryMax[bits];
    const [scale, biasWeight] = this.#isL2 ? [2 * unit, 1] : [unit, share];
    this.#code.setQuery(bits === 4 ? 1 : 0, this.#roomAt, scale, biasWeight, 2 * numberMiddle * sum);
  }
}

const walkers = new Searchers<Walker>();

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
