import {
  type GraphQuality,
  usualCandidates,
  type VectorGraph,
  type VectorGraphInput,
  watchedMin,
} from "../../port/vector-graph.ts";
import type { RowOrder } from "./row-order.ts";

/** The share of the nearest that is aimed at: a little more than is promised, as few rows are looked up. */
export const recallAim = 0.973;
export const nearestCount = 10;
const watched = Math.max(nearestCount, watchedMin);
/** Rows that are looked up before they are added, and the least number of others for each. */
const questionsMax = 128;
const rowsPerQuestion = 64;
/**
 * Candidates to try, in the order of what they cost: searches that end early with 256 take less time than others with 160. The first
 * that reach the aim are gathered from then on; where none do, the last.
 */
const attempts = [
  ...[64, 96, 128, 160, 192, 256].map((beam) => ({ beam, mayEndEarly: true })),
  ...[160, 192, 256].map((beam) => ({ beam, mayEndEarly: false })),
];
/** Half of the questions lie so far on the way to another row: not all that is asked lies among the rows. */
const betweenShare = 1 / 3;
/**
 * Rows of 4 bits have to tell so much of the nearest from others that it is among the first candidates, also for as many questions
 * that are unlike the rows: with fewer candidates a hit, behind filters and where few numbers count, they would find less.
 */
const sharpnessMin = 0.98;
const firstCandidates = 1.5 * nearestCount;
const unlikeQuestions = 32;
/** Of what rows of 8 bits find, rows of 4 may miss this share. */
const missedMax = 0.005;
/** What searches take of others: those that end early, and those over rows of 4 bits, as half as much memory is fetched. */
const earlyShare = 0.65;
const halvedShare = 0.75;
/** Rows that are compared between two pauses. */
const stepRows = 2_048;

export interface MeasuredQuality {
  readonly quality: GraphQuality;
  /** Whether it was measured with searches that may end early. */
  readonly mayEndEarly: boolean;
  /** The share of the nearest that is found among the first candidates, of those that are found. */
  readonly sharpness: number;
}

/** Whether a graph with rows of 4 bits is as good as the same one with rows of 8, and searched in less time. */
export function suffices(halved: MeasuredQuality, whole: MeasuredQuality): boolean {
  const cost = ({ quality, mayEndEarly }: MeasuredQuality) => quality.effort * (mayEndEarly ? earlyShare : 1);
  const [found, wanted] = [halved.quality.recall, whole.quality.recall];
  const findsEnough = found >= wanted || (found >= recallAim && found >= wanted - missedMax);
  return findsEnough && halved.sharpness >= sharpnessMin && cost(halved) * halvedShare < cost(whole);
}

/** What is asked, and how near the last of the nearest is. */
export interface QualityQuestion {
  readonly query: Float32Array;
  readonly worst: number;
  /** It only tells how well the nearest are told from others. */
  readonly isUnlike: boolean;
}

/** How many rows are held back as questions: the last to enter. */
export function heldBack(rowCount: number): number {
  return Math.min(questionsMax, Math.floor(rowCount / rowsPerQuestion));
}

/**
 * Questions by the rows that were held back, with what comparing all others finds. A step for some rows. Those unlike the rows only
 * where there are forms to choose from.
 */
export function* qualityQuestions(
  input: VectorGraphInput,
  order: RowOrder,
  held: number,
  withUnlike: boolean,
): Generator<undefined, QualityQuestion[]> {
  const known = order.rowCount - held;
  const asked = new Set(Array.from({ length: held }, (_, i) => order.rowOf(known + i)));
  const questions: QualityQuestion[] = [];
  for (let slot = known; slot < order.rowCount; slot++) {
    const other = order.rowOf(slot + 1 < order.rowCount ? slot + 1 : known);
    const query = questionOf(input, order.rowOf(slot), slot % 2 === 0 ? 0 : betweenShare, other);
    questions.push({ query, worst: yield* worstOfNearest(input, asked, query), isUnlike: false });
    if (!withUnlike || slot - known >= unlikeQuestions) continue;
    const turned = turnedBy(query, input.dim >> 1);
    questions.push({ query: turned, worst: yield* worstOfNearest(input, asked, turned), isUnlike: true });
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
  const answerable = questions.filter(({ query }) => graph.search(query, 1) !== undefined);
  const asked = answerable.filter(({ isUnlike }) => !isUnlike);
  if (asked.length === 0) return undefined;
  /** Of the candidates, the places of those that are as near as the last of the nearest, or nearer. */
  const placesOf = ({ query, worst }: QualityQuestion, beam: number, mayEndEarly: boolean) => {
    const places: number[] = [];
    for (const [place, found] of (graph.search(query, beam, mayEndEarly ? watched : undefined) ?? []).entries()) {
      if (nearness(input, query, rowOf(found) * input.dim) >= worst) places.push(place);
    }
    return places;
  };
  let recall = 0;
  let last = attempts[0]!;
  for (last of attempts) {
    let found = 0;
    for (const each of asked) {
      found += Math.min(nearestCount, placesOf(each, last.beam, last.mayEndEarly).length);
      yield;
    }
    recall = found / (asked.length * nearestCount);
    if (recall >= recallAim) break;
  }
  let [first, all] = [0, 0];
  for (const each of answerable) {
    // Copies of the last of the nearest are as near, and no place among the first is kept for them.
    const places = placesOf(each, usualCandidates, false).slice(0, nearestCount);
    first += places.filter((place) => place < firstCandidates).length;
    all += places.length;
    yield;
  }
  const sharpness = all === 0 ? 0 : first / all;
  return { quality: { effort: last.beam / usualCandidates, recall }, mayEndEarly: last.mayEndEarly, sharpness };
}

/** A question whose numbers stand elsewhere: what is great in all rows is small in it. */
function turnedBy(query: Float32Array, places: number): Float32Array {
  return query.map((_, i) => query[(i + places) % query.length]!);
}

/** A row, or a place on the way from it to another one. */
function questionOf({ rows, dim }: VectorGraphInput, row: number, share: number, other: number): Float32Array {
  return Float32Array.from(
    { length: dim },
    (_, i) => (1 - share) * rows[row * dim + i]! + share * rows[other * dim + i]!,
  );
}

/** Of all rows but some. In their own order, in which memory is fetched ahead. */
function* worstOfNearest(
  input: VectorGraphInput,
  without: ReadonlySet<number>,
  query: Float32Array,
): Generator<undefined, number> {
  const best: number[] = [];
  for (let from = 0, row = 0; from < input.rows.length; from += input.dim, row++) {
    const score = nearness(input, query, from);
    if ((best.length < nearestCount || score > best.at(-1)!) && !without.has(row)) {
      best.push(score);
      best.sort((a, b) => b - a);
      best.length = Math.min(best.length, nearestCount);
    }
    if (row % stepRows === 0) yield;
  }
  return best.at(-1)!;
}

/** Greater for what is nearer to one question; of no meaning between two. */
export function nearness({ rows, dim, distance }: VectorGraphInput, query: Float32Array, row: number): number {
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
