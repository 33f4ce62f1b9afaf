import assert from "node:assert/strict";
import { type SharedBytes, viewShared, type WasmMemory } from "../../port/shared-bytes.ts";
import { type GraphQuality, type VectorGraph, VectorGraphError } from "../../port/vector-graph.ts";
import { CodeErrors, type QueryErrors } from "./code-errors.ts";
import { codesBinary } from "./codes-binary.ts";
import { blockRows, type CodesLayout, centreCount, codesLayout } from "./codes-file.ts";
import { decodeFooter, type Footer, footerBytes } from "./footer.ts";
import { type GraphSizes, graphAt, headBytes, roundUp, Searchers } from "./graph-memory.ts";
import { lengthOf, scaleQuery } from "./scale.ts";

/** The part of WebAssembly used here; the configured libraries do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

interface Comparison {
  readonly measure: (
    centres: number,
    parts: number,
    numbers: number,
    query: number,
    isL2: boolean,
    distances: number,
  ) => number;
  readonly shorten: (distances: number, parts: number, deviations: number, table: number) => number;
  readonly nearest: (
    codes: number,
    pairs: number,
    words: number,
    blocks: number,
    table: number,
    room: number,
    entries: number,
    results: number,
    wanted: number,
  ) => number;
}

let module: object | undefined;

/**
 * Rows that are to be found should be nearer than most by this many deviations. Where fewer are than wanted, as behind a
 * filter that leaves only far ones, all are told apart, each by less.
 */
const deviations = 0.5;
const ofAll = -1;

/** A row is taken to lie at most so many deviations of the codes' error from where it is expected. */
const errorDeviations = 2;
/** By l2 a query further from the rows than they are from each other, by this factor squared, is beyond single precision. */
const farMax = 1e6;

/** Before the counts of a comparison: 16 bytes of 15, and the sums of a block. */
const countsAt = 16 + blockRows;
/** Sums from 0 to 254, and behind their counts how many rows were allowed, and the greatest sum. */
const sumCount = 255;

/** What a thread works with: its query, distances and table of each part, sums, the rows to compare, all rows, entries, results. */
function roomOf({ parts, numbers, pairs, blocks }: CodesLayout, rowCount: number) {
  const distancesAt = roundUp(parts * numbers * 4);
  const tableAt = distancesAt + parts * centreCount * 4;
  const sumsAt = tableAt + pairs * 2 * centreCount;
  const wordsAt = sumsAt + roundUp(countsAt + (sumCount + 2) * 4);
  const allAt = wordsAt + blocks * 8;
  const entriesAt = allAt + blocks * 8;
  const resultsAt = entriesAt + rowCount * 4;
  return { distancesAt, tableAt, sumsAt, wordsAt, allAt, entriesAt, resultsAt, bytes: resultsAt + rowCount * 4 };
}

export function codesSizes({ rowCount, dim }: Footer, head: Uint32Array): GraphSizes {
  const layout = layoutOf(head, rowCount, dim);
  return { graphBytes: layout.bytes, roomBytes: roomOf(layout, rowCount).bytes };
}

function layoutOf([numbers = 0]: Uint32Array, rowCount: number, dim: number): CodesLayout {
  if (numbers === 0 || dim === 0) throw new VectorGraphError("damaged", "codes of rows have no numbers");
  return codesLayout(numbers, rowCount, dim);
}

/** Short codes of all rows in memory that threads share: a query is compared with each of them. */
export class CodedRows implements VectorGraph {
  readonly rowCount: number;
  readonly dim: number;
  readonly effort: number;
  readonly recall: number | undefined;
  readonly bytes: number;
  readonly shared: SharedBytes;
  readonly #footer: Footer;
  #comparer: Comparer | undefined;
  /** Of the last query, by dot. */
  #length = 0;

  /** Of memory that `graphMemory` made and that has been filled. */
  constructor(shared: SharedBytes, quality: GraphQuality | undefined) {
    const bytes = viewShared(shared);
    const footer = decodeFooter(Buffer.from(bytes.subarray(0, footerBytes)));
    assert(footer?.form === "codes", "the memory begins with the footer of codes");
    this.rowCount = footer.rowCount;
    this.dim = footer.dim;
    this.effort = quality?.effort ?? 1;
    this.recall = quality?.recall;
    this.bytes = footer.graphBytes + footerBytes;
    this.shared = shared;
    this.#footer = footer;
    const head = new Uint32Array(bytes.buffer, bytes.byteOffset + graphAt, headBytes / 4);
    this.#comparer = comparers.of(
      shared,
      codesSizes(footer, head),
      (home, graph, room) => new Comparer(home, graph, room, layoutOf(head, footer.rowCount, footer.dim), footer),
    );
  }

  search(query: Float32Array, count: number): Uint32Array | undefined {
    const scaled = this.#scaled(query);
    return scaled && this.#comparer?.nearest(scaled, undefined, count);
  }

  nearestOf(query: Float32Array, words: Uint32Array, firstRow: number, count: number): Uint32Array | undefined {
    assert(firstRow === 0, "all rows are compared at once");
    const scaled = this.#scaled(query);
    return scaled && this.#comparer?.nearest(scaled, words, count);
  }

  reaching(score: number): number {
    return this.#comparer?.within(this.#distanceOf(score)) ?? 0;
  }

  /** What a score of the last query is among scaled rows. */
  #distanceOf(score: number): number {
    const { distance, factor } = this.#footer;
    if (distance === "l2") return score > 0 ? (1 / score - 1) * factor * factor : Number.POSITIVE_INFINITY;
    return distance === "dot" ? (-score * factor) / this.#length : -score;
  }

  #scaled(query: Float32Array): Float32Array | undefined {
    if (query.length !== this.dim) throw new VectorGraphError("failed", `the query has ${query.length} numbers`);
    if (this.#footer.distance === "dot") this.#length = lengthOf(query, 0, query.length);
    return scaleQuery(query, this.#footer.distance, this.#footer);
  }

  close(): void {
    this.#comparer = undefined;
  }
}

/** One thread's way to compare one set of codes. */
class Comparer {
  readonly #code: Comparison;
  readonly #layout: CodesLayout;
  readonly #room: ReturnType<typeof roomOf>;
  readonly #graphAt: number;
  readonly #roomAt: number;
  readonly #query: Float32Array;
  readonly #words: Uint32Array;
  readonly #results: Uint32Array;
  readonly #counts: Uint32Array;
  readonly #errors: CodeErrors;
  readonly #isL2: boolean;
  readonly #rowCount: number;
  /** Of the last question: rows found, how far the nearest code is, what distances were multiplied with. */
  #found = 0;
  #nearest = 0;
  #scale = 0;
  /** And what is expected of the error of codes: see `CodeErrors`. */
  #expected: QueryErrors = { along: 0, squared: 0, error: 0 };

  constructor(home: WasmMemory, graphAt: number, roomAt: number, layout: CodesLayout, footer: Footer) {
    module ??= new WebAssembly.Module(Buffer.from(codesBinary, "base64"));
    this.#code = new WebAssembly.Instance(module, { env: { memory: home } }).exports as Comparison;
    this.#layout = layout;
    this.#room = roomOf(layout, footer.rowCount);
    this.#graphAt = graphAt;
    this.#roomAt = roomAt;
    this.#rowCount = footer.rowCount;
    this.#isL2 = footer.distance === "l2";
    const { buffer } = home;
    const { sumsAt, wordsAt, allAt, resultsAt } = this.#room;
    this.#query = new Float32Array(buffer, roomAt, layout.parts * layout.numbers);
    this.#words = new Uint32Array(buffer, roomAt + wordsAt, layout.blocks * 2);
    this.#results = new Uint32Array(buffer, roomAt + resultsAt, footer.rowCount);
    this.#counts = new Uint32Array(buffer, roomAt + sumsAt + countsAt, sumCount + 2);
    const { centresAt, errorsAt, bytes } = layout;
    const centres = new Float32Array(buffer, graphAt + centresAt, (layout.codesAt - centresAt) / 4);
    const errors = new Float32Array(buffer, graphAt + errorsAt, (bytes - errorsAt) / 4);
    this.#errors = new CodeErrors(centres, errors, layout.numbers);
    new Uint8Array(buffer, roomAt + sumsAt, 16).fill(15);
    const all = new Uint32Array(buffer, roomAt + allAt, layout.blocks * 2);
    all.fill(0xffff_ffff, 0, footer.rowCount >>> 5);
    if (footer.rowCount % 32 !== 0) all[footer.rowCount >>> 5] = 2 ** (footer.rowCount % 32) - 1;
  }

  /** Undefined where single precision can't tell the rows apart. */
  nearest(query: Float32Array, words: Uint32Array | undefined, count: number): Uint32Array | undefined {
    this.#expected = this.#errors.of(query);
    if (this.#isL2 && this.#expected.squared > farMax * this.#errors.spread) return undefined;
    const wanted = Math.min(count, this.#rowCount);
    if (wanted === 0) return new Uint32Array(0);
    if (words !== undefined) this.#words.set(words);
    this.#query.set(query);
    const { parts, numbers, centresAt } = this.#layout;
    const distances = this.#roomAt + this.#room.distancesAt;
    const centres = this.#graphAt + centresAt;
    this.#nearest = this.#code.measure(centres, parts, numbers, this.#roomAt, this.#isL2, distances);
    this.#found = this.#compare(deviations, words !== undefined, wanted);
    if (this.#found < Math.min(wanted, this.#counts[sumCount]!)) {
      this.#found = this.#compare(ofAll, words !== undefined, wanted);
    }
    return this.#results.slice(0, this.#found);
  }

  /** Rows of the last question whose distance may be as small as this: by l2 squared, else less the product. */
  within(distance: number): number {
    const ofRounding = this.#layout.parts / 12 / this.#scale ** 2;
    const { bias, variance } = this.#isL2
      ? this.#errors.ofSquared(distance, this.#expected)
      : this.#errors.ofProduct(-distance, this.#expected);
    const toCode = distance + bias + errorDeviations * Math.sqrt(variance + ofRounding);
    const sum = Math.floor((toCode - this.#nearest) * this.#scale);
    if (sum < 0) return 0;
    return sum <= this.#counts[sumCount + 1]! ? Math.min(this.#found, this.#counts[sum]!) : this.#found + 1;
  }

  #compare(reach: number, isFiltered: boolean, wanted: number): number {
    const { parts, pairs, blocks, codesAt } = this.#layout;
    const { distancesAt, tableAt, sumsAt, wordsAt, allAt, entriesAt, resultsAt } = this.#room;
    const room = this.#roomAt;
    this.#scale = this.#code.shorten(room + distancesAt, parts, reach, room + tableAt);
    return this.#code.nearest(
      this.#graphAt + codesAt,
      pairs,
      room + (isFiltered ? wordsAt : allAt),
      blocks,
      room + tableAt,
      room + sumsAt,
      room + entriesAt,
      room + resultsAt,
      wanted,
    );
  }
}

const comparers = new Searchers<Comparer>();
