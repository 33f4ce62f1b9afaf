import { UsearchGraphs } from "../../src/adapter/vectors/graphs.ts";
import { NearRows } from "../../src/adapter/vectors/near-rows.ts";
import type { Distance } from "../../src/engine/schema/schema.ts";
import { parseSchema } from "../../src/engine/schema/schema-parse.ts";
import { extract } from "../../src/engine/search/document.ts";
import type { IndexReader } from "../../src/engine/search/index/reader.ts";
import { openSegment, SegmentReader } from "../../src/engine/search/index/segment.ts";
import { buildSegment } from "../../src/engine/search/index/segment-writer.ts";
import type { VectorGraph, VectorGraphInput, VectorGraphs } from "../../src/port/vector-graph.ts";

/** Small and seeded: the same numbers in every run. */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Vectors in clusters, as embeddings are; further ones of the same clusters serve as queries. */
export class Clusters {
  readonly dim: number;
  readonly #random: () => number;
  readonly #centres: Float32Array[];

  constructor(dim: number, count: number, seed: number) {
    this.dim = dim;
    this.#random = generator(seed);
    this.#centres = Array.from({ length: count }, () => Float32Array.from({ length: dim }, () => normal(this.#random)));
  }

  next(): Float32Array {
    const centre = this.#centres[Math.floor(this.#random() * this.#centres.length)]!;
    return centre.map((value) => value + 0.4 * normal(this.#random));
  }

  many(count: number): Float32Array[] {
    return Array.from({ length: count }, () => this.next());
  }
}

/** A segment of documents with the vector `v`, which every seventh lacks if `gaps` is set; ids are even. */
export function vectorSegment(
  vectors: readonly Float32Array[],
  distance: Distance,
  gaps = false,
  firstId = 0,
): SegmentReader {
  const dim = vectors[0]!.length;
  const schema = parseSchema({ fields: [], vectors: [{ name: "v", dim, distance }] });
  const documents = vectors.map((vector, i) => ({
    id: firstId + i * 2,
    version: 1,
    document: extract(schema, {}, gaps && i % 7 === 3 ? {} : { v: vector }),
  }));
  return new SegmentReader(openSegment(buildSegment(schema, documents)));
}

/** A graph of a segment's vectors, or their codes, in a file of its own. */
export async function graphOf(
  reader: IndexReader,
  path: string,
  graphs: VectorGraphs = vectorGraphs.walked,
): Promise<VectorGraph> {
  const { data, dim, distance } = reader.vectors("v")!;
  const { quality } = await graphs.build(path, { rows: data, dim, distance });
  return graphs.open(path, quality);
}

/** What makes graphs that are walked, and codes that are compared. */
export const vectorGraphs = {
  walked: new UsearchGraphs(),
  coded: new NearRows(new UsearchGraphs()),
} as const satisfies Record<string, VectorGraphs>;

/** The rows one after another. */
export function flat(vectors: readonly Float32Array[]): Float32Array {
  const dim = vectors[0]!.length;
  const all = new Float32Array(vectors.length * dim);
  vectors.forEach((vector, i) => {
    all.set(vector, i * dim);
  });
  return all;
}

/** Higher is nearer. */
export function score(distance: VectorGraphInput["distance"], query: Float32Array, row: Float32Array): number {
  let dot = 0;
  let squared = 0;
  let length = 0;
  for (let i = 0; i < query.length; i++) {
    dot += query[i]! * row[i]!;
    squared += (query[i]! - row[i]!) ** 2;
    length += row[i]! ** 2;
  }
  if (distance === "l2") return -squared;
  return distance === "dot" || length === 0 ? dot : dot / Math.sqrt(length);
}

/** The rows of `all` that are nearest to a query, by comparing with each. */
export function nearest(
  distance: VectorGraphInput["distance"],
  all: Float32Array,
  query: Float32Array,
  k: number,
): number[] {
  const dim = query.length;
  return Array.from({ length: all.length / dim }, (_, row) => row)
    .map((row) => ({ row, score: score(distance, query, all.subarray(row * dim, (row + 1) * dim)) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, k)
    .map(({ row }) => row);
}
