import { usualCandidates, type VectorGraph, watchedMin } from "../../../port/vector-graph.ts";
import { runSteps, type Steps } from "../../turns.ts";
import { Bitset } from "../index/bitset.ts";
import type { IndexReader, VectorRows } from "../index/reader.ts";
import { type Hit, TopK } from "../index/top-k.ts";
import { inverseNorm } from "./distance.ts";
import { exactCost, offerFound, rowScore, searchPartSteps } from "./exact.ts";

/** Segments with fewer vectors get no graph. */
const graphRowsMin = 2_000;

/**
 * Copies of one vector are each other's nearest: with more of them than a graph keeps neighbours, nothing else is
 * reached from there. Where more than this share of the rows are such, all are compared.
 */
const copiesMax = 16;
const copiedShareMax = 1 / 4;
/** Numbers by which copies are told: what agrees in so many is taken for one. */
const comparedNumbers = 32;

/** Whether a graph of these rows would be smaller work than comparing them, and find the nearest. */
export function suitsGraph({ rowCount, dim, data }: VectorRows): boolean {
  if (rowCount < graphRowsMin) return false;
  const bits = new Uint32Array(data.buffer, data.byteOffset, rowCount * dim);
  const compared = Math.min(dim, comparedNumbers);
  // Counted by their hash, in four places a row: no chance brings seventeen together.
  const places = 2 ** Math.ceil(Math.log2(4 * rowCount));
  const hashes = new Uint32Array(rowCount);
  const counts = new Uint8Array(places);
  for (let row = 0; row < rowCount; row++) {
    let hash = 0x811c9dc5;
    // Whole numbers differ in their upper bits only.
    for (let i = row * dim; i < row * dim + compared; i++) {
      hash = Math.imul(hash ^ bits[i]! ^ (bits[i]! >>> 15), 0x9e3779b1);
    }
    hash = (hash ^ (hash >>> 15)) & (places - 1);
    hashes[row] = hash;
    if (counts[hash]! <= copiesMax) counts[hash]!++;
  }
  let copied = 0;
  for (let row = 0; row < rowCount; row++) if (counts[hashes[row]!]! > copiesMax) copied++;
  return copied <= rowCount * copiedShareMax;
}

/** Candidates that a walk gathers for a hit at least, and those that are taken by their codes, whose order is less sure. */
const candidatesPerHit = { walked: 1.5, coded: 4 } as const;

/**
 * Candidates that should pass the filter, for k hits: the farther ones of what a graph finds are less complete, and by
 * chance fewer pass than should.
 */
const passingMin = 8;
const passingPerHit = 2;

/** What a candidate of a graph costs, in rows that are looked up (1 µs to 0.1 µs at 128 numbers). */
const candidateCost = 10;
/** Rows that `nearestOf` compares in the time of one that is looked up. */
const comparedPerLookUp = 4;

/** Rows that `nearestOf` compares in one step: half a millisecond. */
const comparedMax = 16_384;

/** Bytes of codes that are compared in the time of a row that is looked up, as each candidate is. */
const codeBytesPerLookUp = 2_048;
/** Of what comparing all costs, what may be spent on codes before all are compared after all. */
const codedShareMax = 1 / 2;

/** How much further the graph looks when too few candidates passed the filter, or the last of them are among the best. */
const growth = 4;

/**
 * Of the candidates beyond k, the share at the end that should not be among the best; and how many of them may be, of as many
 * as would be if all candidates were alike. Where 64 are, for ten hits, one question in 27 does not show it; with a quarter, one in 12.
 */
const lastShare = 1 / 3;
const chanceShare = 1 / 4;

export interface AnnOptions {
  /** `filters[i]` restricts part i, and counts deleted documents out; without it all live documents may be found. */
  readonly filters?: readonly (Bitset | undefined)[] | undefined;
  /** Candidates that a graph gathers at least, before the filter: more make it surer that the nearest are found, and the walk does not end early. */
  readonly ef?: number | undefined;
  /** Compares the query with every vector. */
  readonly exact?: boolean | undefined;
  /** What scores less is of no use to the caller. */
  readonly floor?: number | undefined;
}

/** A part of the index with its graph, and what is asked of it. */
interface GraphSearch {
  readonly graph: VectorGraph;
  readonly reader: IndexReader;
  readonly r: number;
  readonly rows: VectorRows;
  readonly query: Float32Array;
  readonly k: number;
  readonly allowed: Bitset | undefined;
  /** The best so far of all parts, and room for those of this part. */
  readonly top: TopK;
  readonly own: TopK;
}

/**
 * Offers candidates, which are ordered by their short form, and returns whether that tells the best of them from others. Rows
 * that are nearly alike, or copies, have one short form: then the last candidates are as good as the first, and so may be
 * rows that are not among them.
 */
function offerRanked({ reader, r, rows, query, k, top, own }: GraphSearch, found: Uint32Array): boolean {
  const last = found.length - Math.max(1, Math.ceil((found.length - k) * lastShare));
  own.reset(top.threshold);
  offerFound(reader, r, rows, query, found.subarray(0, last), own);
  const { admitted } = own;
  offerFound(reader, r, rows, query, found.subarray(last), own);
  const byChance = ((found.length - last) * k) / found.length;
  if (own.admitted - admitted > byChance * chanceShare) return false;
  // Of equal ones the lowest ids count, and these may be elsewhere.
  return found.length === 0 || rowScore(rows, query, inverseNorm(query), found.at(-1)!) < own.threshold;
}

/**
 * Offers the allowed rows that a graph finds; false when comparing all is the better way. The share of documents that a
 * filter leaves decides how far the graph looks at first, as if they were spread evenly; where they are not, it looks
 * further until it has k that stand out, or until comparing all of them is cheaper.
 */
function offerWalked(search: GraphSearch, ef: number, mayEndEarly: boolean): boolean {
  const { graph, rows, query, k, allowed, top, own } = search;
  const { rowCount, docs } = rows;
  const matches = allowed === undefined ? rowCount : Math.min(allowed.count(), rowCount);
  const enough = Math.min(k, matches);
  const passing = passingMin + k * passingPerHit;
  let wanted = allowed === undefined ? ef : Math.max(ef, Math.ceil((passing * rowCount) / Math.max(1, matches)));
  const otherCost = allowed === undefined ? exactCost(rowCount, rowCount) : matches / comparedPerLookUp;
  // What a filter or deletions leave may lie far behind the nearest: then the walk goes to its end.
  let nearest = mayEndEarly && allowed === undefined ? Math.max(k, watchedMin) : undefined;
  while (wanted * candidateCost < otherCost) {
    const found = graph.search(query, wanted, nearest);
    if (found === undefined) return false;
    let passed = 0;
    for (let i = 0; i < found.length; i++) {
      const row = found[i]!;
      if (row < rowCount && (allowed === undefined || allowed.has(docs[row]!))) found[passed++] = row;
    }
    if (passed >= enough && (offerRanked(search, found.subarray(0, passed)) || passed === matches)) {
      top.offerAll(own);
      return true;
    }
    wanted *= growth;
    nearest = undefined;
  }
  return false;
}

/** Offers the allowed rows that are nearest by their short form in the graph; false where it can't tell them. */
function* offerNearest(search: GraphSearch, allowed: Bitset, first: number): Steps<boolean> {
  const { graph, reader, r, rows, query, top, own } = search;
  const { words } = rowsOf(rows, allowed);
  // As if they were spread evenly; a multiple of the rows of a word.
  const evenly = (rows.rowCount * comparedMax) / Math.max(1, allowed.count());
  const stepRows = 32 * Math.ceil(Math.min(evenly, rows.rowCount) / 32);
  for (let from = 0; from < rows.rowCount; from += stepRows) {
    if (from > 0) yield;
    const part = words.subarray(from >>> 5, (from + stepRows) >>> 5);
    for (let count = first; ; count *= growth) {
      const found = graph.nearestOf(query, part, from, count);
      if (found === undefined && from === 0 && count === first) return false;
      if (found === undefined) {
        own.reset(top.threshold);
        offerFound(reader, r, rows, query, listOf(part, from), own);
      } else if (!offerRanked(search, found) && found.length === count) continue;
      top.offerAll(own);
      break;
    }
  }
  return true;
}

/**
 * Offers the `first` allowed rows by their codes, then all that may reach the best so far, and the next ones as long as the last third of
 * all are among the best; false when comparing all is the better way.
 */
function offerCoded({ graph, reader, r, rows, query, k, allowed, top, own }: GraphSearch, first: number): boolean {
  const { rowCount } = rows;
  const otherCost = exactCost(rowCount, allowed === undefined ? rowCount : allowed.count());
  const comparisonCost = graph.bytes / codeBytesPerLookUp;
  if (comparisonCost + first > otherCost * codedShareMax) return false;
  let spent = 0;
  const words = allowed && rowsOf(rows, allowed).words;
  for (let wanted = first * growth; ; wanted *= growth) {
    const found = words === undefined ? graph.search(query, wanted) : graph.nearestOf(query, words, 0, wanted);
    if (found === undefined) return false;
    own.reset(top.threshold);
    spent += comparisonCost;
    let offered = 0;
    for (let next = first; offered < next && offered < found.length; ) {
      const from = offered;
      const { admitted } = own;
      offered = Math.min(next, found.length, from + first);
      offerFound(reader, r, rows, query, found.subarray(from, offered), own);
      spent += offered - from;
      if (spent > otherCost * codedShareMax && offered < found.length) return false;
      next = graph.reaching!(own.threshold);
      if (offered < next) continue;
      // Rows that are nearly alike have one code: then those that come next are as good as those before.
      const byChance = (k * (offered - from)) / offered;
      const isLastGood = from > 0 && own.admitted - admitted > byChance * chanceShare;
      const isEqual = rowScore(rows, query, inverseNorm(query), found[offered - 1]!) >= own.threshold;
      if (isLastGood || isEqual || from === 0) next = offered + Math.ceil((offered * lastShare) / (1 - lastShare));
    }
    if (offered === found.length && found.length === wanted) continue;
    top.offerAll(own);
    return true;
  }
}

/** Offers what the graph finds; false where comparing all is the better way. */
function* offerGraph(search: GraphSearch, ef: number | undefined): Steps<boolean> {
  const { graph, k, allowed } = search;
  const perHit = graph.reaching === undefined ? candidatesPerHit.walked : candidatesPerHit.coded;
  const usual = Math.max(usualCandidates, Math.ceil(k * perHit));
  const candidates = Math.max(k, ef ?? Math.ceil(usual * graph.effort));
  if (graph.reaching !== undefined) return offerCoded(search, candidates);
  if (offerWalked(search, candidates, ef === undefined)) return true;
  const passing = Math.ceil((passingMin + k * passingPerHit) * graph.effort);
  return allowed !== undefined && (yield* offerNearest(search, allowed, Math.max(candidates, passing)));
}

/** The rows whose bits are set, from the row of the first bit on. */
function listOf(words: Uint32Array, first: number): Uint32Array {
  const list: number[] = [];
  for (let w = 0; w < words.length; w++) {
    for (let word = words[w]!; word !== 0; word &= word - 1) list.push(first + 32 * w + 31 - Math.clz32(word & -word));
  }
  return Uint32Array.from(list);
}

/** The rows of documents: 0.1 ms for 63,000. */
function rowsOf({ rowCount, docs: docOf }: VectorRows, docs: Bitset): Bitset {
  if (rowCount === docs.size) return docs;
  const found = new Bitset(rowCount);
  const { words } = docs;
  for (let row = 0, w = 0; w < found.words.length; w++) {
    let word = 0;
    for (const end = Math.min(rowCount, row + 32); row < end; row++) {
      const doc = docOf[row]!;
      word |= ((words[doc >>> 5]! >>> (doc & 31)) & 1) << (row & 31);
    }
    found.words[w] = word;
  }
  return found;
}

/**
 * The k nearest documents: by the graphs where there are some, else exactly. `graphs[i]` belongs to part i. Scores are
 * exact in any case, and k documents are found where k exist; only whether they are the nearest, or all that reach the floor, is
 * a matter of `ef`.
 */
export function searchAnn(
  readers: readonly IndexReader[],
  graphs: readonly (VectorGraph | undefined)[],
  field: string,
  query: Float32Array,
  k: number,
  options: AnnOptions = {},
): Hit[] {
  return runSteps(searchAnnSteps(readers, graphs, field, query, k, options));
}

/** The same with pauses: after each part, and within those that are compared vector by vector. */
export function* searchAnnSteps(
  readers: readonly IndexReader[],
  graphs: readonly (VectorGraph | undefined)[],
  field: string,
  query: Float32Array,
  k: number,
  options: AnnOptions = {},
): Steps<Hit[]> {
  const top = new TopK(k, options.floor);
  const own = new TopK(k);
  for (const [r, reader] of readers.entries()) {
    const rows = reader.vectors(field);
    if (rows === undefined) continue;
    const allowed = options.filters?.[r] ?? reader.live;
    const graph = options.exact === true ? undefined : graphs[r];
    // A graph of other rows would give wrong ones: better none than that.
    const usable = graph !== undefined && graph.rowCount === rows.rowCount && graph.dim === rows.dim;
    const search = usable ? { graph, reader, r, rows, query, k, allowed, top, own } : undefined;
    const isFound = search !== undefined && (yield* offerGraph(search, options.ef));
    if (!isFound) yield* searchPartSteps(reader, r, rows, query, allowed, top);
    yield;
  }
  return top.hits();
}
