import { createRequire } from "node:module";
import type { Index, MetricKind, ScalarKind } from "usearch";
import {
  type GraphQuality,
  type VectorGraph,
  VectorGraphError,
  type VectorGraphInput,
} from "../../port/vector-graph.ts";
import { type Footer, footerBytes } from "./footer.ts";
import { bentEffort, scaleQuery } from "./scale.ts";

/** From so many rows on a graph is not soon made anew as part of a larger one, and its build is worth more time. */
export const largeRowsMin = 32_768;

/**
 * Links of a row, and rows that are looked at to find them. Measured on the descriptions of 63,000 packages × 100, whose vectors
 * are the sums of their words': the large form finds 0.95 of the ten nearest with 32 candidates and 0.98 with 96; the small one, in
 * the same time, 0.83 and 0.89, and 0.95 with 256. It builds in half the time. In clusters both are nearly alike.
 */
const small = { connectivity: 16, expansion_add: 64 } as const;
const large = { connectivity: 32, expansion_add: 128 } as const;

export function linksOf(rowCount: number): typeof small | typeof large {
  return rowCount < largeRowsMin ? small : large;
}

/**
 * Half precision with the exponent of single (bf16) has the recall of f32, as candidates are scored again exactly, at 0.6 of its
 * size and two thirds of its build time. i8 saves a third more, builds no faster, and fits cosine only.
 */
const quantization = "bf16" as ScalarKind;

let usearch: { Index: typeof Index } | undefined;

/** Loaded when first used: only collections with vectors need it. */
export function newIndex(rowCount: number, dim: number, distance: VectorGraphInput["distance"]): Index {
  usearch ??= createRequire(import.meta.url)("usearch") as { Index: typeof Index };
  const metric = (distance === "l2" ? "l2sq" : "ip") as MetricKind;
  // The search explores as many candidates as it is asked for, but no fewer than this.
  const options = { ...linksOf(rowCount), quantization, expansion_search: 1, multi: false };
  return new usearch.Index({ dimensions: dim, metric, ...options });
}

/** What earlier builds made: mapped into memory by usearch. */
export function openUsearch(path: string, footer: Footer, quality: GraphQuality | undefined): VectorGraph {
  const index = newIndex(footer.rowCount, footer.dim, footer.distance);
  try {
    index.view(path);
  } catch (error) {
    throw new VectorGraphError("damaged", `${path}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  if (index.size() !== footer.rowCount || index.dimensions() !== footer.dim) {
    throw new VectorGraphError("damaged", `${path}: the graph is not the one its footer describes`);
  }
  return new UsearchGraph(index, footer, quality);
}

class UsearchGraph implements VectorGraph {
  readonly shared = undefined;
  readonly rowCount: number;
  readonly dim: number;
  readonly effort: number;
  readonly recall: number | undefined;
  readonly bytes: number;
  readonly #footer: Footer;
  #index: Index | undefined;

  constructor(index: Index, footer: Footer, quality: GraphQuality | undefined) {
    this.rowCount = footer.rowCount;
    this.dim = footer.dim;
    this.effort = quality?.effort ?? (footer.bent ? bentEffort : 1);
    this.recall = quality?.recall;
    this.bytes = footer.graphBytes + footerBytes;
    this.#footer = footer;
    this.#index = index;
  }

  search(query: Float32Array, count: number): Uint32Array | undefined {
    // The native code reads as many numbers as it expects, whatever is there.
    if (query.length !== this.dim) throw new VectorGraphError("failed", `the query has ${query.length} numbers`);
    const scaled = scaleQuery(query, this.#footer.distance, this.#footer);
    if (scaled === undefined || this.#index === undefined) return undefined;
    const wanted = Math.min(count, this.rowCount);
    if (wanted === 0) return new Uint32Array(0);
    const { keys, distances } = this.#index.search(scaled, wanted, 1);
    if (distances.length > 0 && !Number.isFinite(distances[distances.length - 1])) return undefined;
    // Keys are 64 bits, rows 32: the lower half of each, which spares a BigInt for each of them.
    const halves = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2);
    const rows = new Uint32Array(keys.length);
    for (let i = 0; i < rows.length; i++) rows[i] = halves[2 * i]!;
    return rows;
  }

  nearestOf(): undefined {
    return undefined;
  }

  /** The mapping goes when the native object is collected: usearch has no other way to give it back. */
  close(): void {
    this.#index = undefined;
  }
}
