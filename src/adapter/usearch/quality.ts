import {
  type GraphQuality,
  usualCandidates,
  type VectorGraph,
  type VectorGraphInput,
  watchedMin,
} from "../../port/vector-graph.ts";
import type { RowOrder } from "./row-order.ts";

/** The share of the nearest that is aimed at: a little more than is promised, as few rows are looked up. */
export const recallAim = 0.975;
const nearestCount = 10;
const watched = Math.max(nearestCount, watchedMin);
/** Rows that are looked up before they are added, and the least number of others for each. */
const questionsMax = 128;
const rowsPerQuestion = 64;
/**
 * Candidates to try, in the order of what they cost: searches that end early with 256 take less time than others with 160. The first
 * that reach the aim are gathered from then on.
 */
const attempts = [
  ...[64, 96, 128, 160, 192, 256].map((beam) => ({ beam, mayEndEarly: true })),
  ...[160, 192, 256].map((beam) => ({ beam, mayEndEarly: false })),
];
/** Where none do, the first that find nearly as much as the most: further ones would cost more and find no more. */
export const nearlyAsMuch = 0.005;
/** Half of the questions lie so far on the way to another row: not all that is asked lies among the rows. */
const betweenShare = 1 / 3;
/** Rows that are compared between two pauses. */
const stepRows = 2_048;

export interface MeasuredQuality {
  readonly quality: GraphQuality;
  /** Whether it was measured with searches that may end early. */
  readonly mayEndEarly: boolean;
}

/** What is asked, and how near the last of the nearest is. */
export interface QualityQuestion {
  readonly query: Float32Array;
  readonly worst: number;
}

/** How many rows are held back as questions: the last to enter. */
export function heldBack(rowCount: number): number {
  return Math.min(questionsMax, Math.floor(rowCount / rowsPerQuestion));
}

/** Questions by the rows that were held back, with what comparing all others finds. A step for some rows. */
export function* qualityQuestions(
  input: VectorGraphInput,
  order: RowOrder,
  held: number,
): Generator<undefined, QualityQuestion[]> {
  const known = order.rowCount - held;
  const questions: QualityQuestion[] = [];
  for (let slot = known; slot < order.rowCount; slot++) {
    const other = order.rowOf(slot + 1 < order.rowCount ? slot + 1 : known);
    const query = questionOf(input, order.rowOf(slot), slot % 2 === 0 ? 0 : betweenShare, other);
    questions.push({ query, worst: yield* worstOfNearest(input, order, query, known) });
  }
  return questions;
}

/**
 * How many candidates a graph has to gather, measured by rows that it lacks. A step for each look-up. `rowOf` tells the row that it
 * means by what it finds. Undefined where it can answer nothing.
 */
export function* measureQuality(
  graph: VectorGraph,
  input: VectorGraphInput,
  questions: readonly QualityQuestion[],
  rowOf: (found: number) => number,
): Generator<undefined, MeasuredQuality | undefined> {
  const asked = questions.filter(({ query }) => graph.search(query, 1) !== undefined);
  if (asked.length === 0) return undefined;
  const tried: MeasuredQuality[] = [];
  for (const { beam, mayEndEarly } of attempts) {
    let found = 0;
    for (const { query, worst } of asked) {
      let reached = 0;
      // As near as the last of the nearest is as good.
      for (const each of graph.search(query, beam, mayEndEarly ? watched : undefined) ?? []) {
        if (nearness(input, query, rowOf(each) * input.dim) >= worst) reached++;
      }
      found += Math.min(nearestCount, reached);
      yield;
    }
    const recall = found / (asked.length * nearestCount);
    tried.push({ quality: { effort: beam / usualCandidates, recall }, mayEndEarly });
    if (recall >= recallAim) break;
  }
  const most = tried.reduce((max, { quality }) => Math.max(max, quality.recall), 0);
  return tried.find(({ quality: { recall } }) => recall >= Math.min(recallAim, most - nearlyAsMuch));
}

/** A row, or a place on the way from it to another one. */
function questionOf({ rows, dim }: VectorGraphInput, row: number, share: number, other: number): Float32Array {
  return Float32Array.from(
    { length: dim },
    (_, i) => (1 - share) * rows[row * dim + i]! + share * rows[other * dim + i]!,
  );
}

function* worstOfNearest(
  input: VectorGraphInput,
  order: RowOrder,
  query: Float32Array,
  known: number,
): Generator<undefined, number> {
  const best: number[] = [];
  for (let slot = 0; slot < known; slot++) {
    const score = nearness(input, query, order.rowOf(slot) * input.dim);
    if (best.length < nearestCount || score > best.at(-1)!) {
      best.push(score);
      best.sort((a, b) => b - a);
      best.length = Math.min(best.length, nearestCount);
    }
    if (slot % stepRows === 0) yield;
  }
  return best.at(-1)!;
}

/** Greater for what is nearer to one question; of no meaning between two. */
function nearness({ rows, dim, distance }: VectorGraphInput, query: Float32Array, row: number): number {
  let product = 0;
  let squared = 0;
  for (let i = 0; i < dim; i++) {
    const value = rows[row + i]!;
    product += query[i]! * value;
    squared += value * value;
  }
  if (distance === "l2") return 2 * product - squared;
  return distance === "dot" || squared === 0 ? product : product / Math.sqrt(squared);
}
