import type { Clock } from "../../../port/clock.ts";
import type { Random } from "../../../port/random.ts";
import type { VectorGraph } from "../../../port/vector-graph.ts";
import type { Bitset } from "../index/bitset.ts";
import type { IndexReader } from "../index/reader.ts";
import { type AnnOptions, searchAnn } from "./ann.ts";

export interface RecallOptions {
  /** Queries: vectors of documents taken at random. */
  readonly num: number;
  readonly k: number;
  readonly filters?: AnnOptions["filters"];
  readonly ef?: number | undefined;
  readonly random: Random;
  readonly clock: Clock;
  /** Called between queries, so that a measurement on a busy thread lets others in. */
  readonly pause?: () => Promise<void>;
}

export interface Recall {
  /** The share of the exact answer that the approximate one has. 1 when there is nothing to find. */
  readonly recall: number;
  /** Milliseconds a query. */
  readonly annMs: number;
  readonly exactMs: number;
  readonly queries: number;
}

/** Tries to draw a vector whose document may be found; a filter that leaves few makes the walk start at a random row. */
function drawQuery(
  readers: readonly IndexReader[],
  field: string,
  filters: readonly (Bitset | undefined)[] | undefined,
  random: Random,
): Float32Array | undefined {
  const counts = readers.map((reader) => reader.vectors(field)?.rowCount ?? 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let start = Math.floor(random.next() * total);
  let part = 0;
  while (start >= counts[part]!) start -= counts[part++]!;
  // Each part once, and the first one's beginning at last.
  for (let round = 0; round <= readers.length; round++, start = 0, part = (part + 1) % readers.length) {
    const rows = readers[part]!.vectors(field);
    const allowed = filters?.[part] ?? readers[part]!.live;
    for (let row = start; row < (counts[part] ?? 0); row++) {
      if (rows === undefined || (allowed !== undefined && !allowed.has(rows.docs[row]!))) continue;
      return rows.data.slice(row * rows.dim, (row + 1) * rows.dim);
    }
  }
  return undefined;
}

/** Runs random vectors of the collection as queries, by graph and exactly. */
export async function measureRecall(
  readers: readonly IndexReader[],
  graphs: readonly (VectorGraph | undefined)[],
  field: string,
  options: RecallOptions,
): Promise<Recall> {
  const { num, k, filters, ef, random, clock } = options;
  let wanted = 0;
  let found = 0;
  let annMs = 0;
  let exactMs = 0;
  let queries = 0;
  for (; queries < num; queries++) {
    const query = drawQuery(readers, field, filters, random);
    if (query === undefined) break;
    const start = clock.steadyMs();
    const approximate = searchAnn(readers, graphs, field, query, k, { filters, ef });
    const between = clock.steadyMs();
    const exact = searchAnn(readers, graphs, field, query, k, { filters, exact: true });
    annMs += between - start;
    exactMs += clock.steadyMs() - between;
    // A document that is as near as the last of the exact answer is as good: which of equals come first says nothing.
    const worst = exact[exact.length - 1]?.score ?? Number.NEGATIVE_INFINITY;
    wanted += exact.length;
    found += Math.min(exact.length, approximate.filter((hit) => hit.score >= worst).length);
    await options.pause?.();
  }
  const each = Math.max(1, queries);
  return { recall: wanted === 0 ? 1 : found / wanted, annMs: annMs / each, exactMs: exactMs / each, queries };
}
