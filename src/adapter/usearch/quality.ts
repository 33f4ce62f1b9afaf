import {
  type GraphQuality,
  usualCandidates,
  type VectorGraph,
  type VectorGraphInput,
} from "../../port/vector-graph.ts";

/** The share of the nearest that is aimed at: a little more than is promised, as few rows are looked up. */
const recallAim = 0.975;
const nearestCount = 10;
/** Rows that are looked up before they are added, and the least number of others for each. */
const questionsMax = 48;
const rowsPerQuestion = 64;
/** Candidates to try; the fewest that reach the aim are gathered from then on. */
const beams = [64, 96, 128, 192, 256] as const;
/** Rows that are compared between two pauses. */
const stepRows = 2_048;

/** How many rows at the end are held back as questions. */
export function heldBack(rowCount: number): number {
  return Math.min(questionsMax, Math.floor(rowCount / rowsPerQuestion));
}

/** How many candidates a graph has to gather, measured by the rows that it lacks. A step for some rows, or a look-up. */
export function* measureQuality(
  graph: VectorGraph,
  input: VectorGraphInput,
  held: number,
): Generator<undefined, GraphQuality | undefined> {
  const { rows, dim } = input;
  const known = rows.length / dim - held;
  const questions: { readonly at: number; readonly query: Float32Array; readonly worst: number }[] = [];
  for (let row = known; row < known + held; row++) {
    const at = row * dim;
    const query = rows.slice(at, at + dim);
    if (graph.search(query, 1) !== undefined)
      questions.push({ at, query, worst: yield* worstOfNearest(input, at, known) });
  }
  if (questions.length === 0) return undefined;
  let recall = 0;
  let beam = usualCandidates;
  for (beam of beams) {
    let found = 0;
    for (const { at, query, worst } of questions) {
      let reached = 0;
      // As near as the last of the nearest is as good.
      for (const row of graph.search(query, beam) ?? []) if (nearness(input, at, row * dim) >= worst) reached++;
      found += Math.min(nearestCount, reached);
      yield;
    }
    recall = found / (questions.length * nearestCount);
    if (recall >= recallAim) break;
  }
  return { effort: beam / usualCandidates, recall };
}

function* worstOfNearest(input: VectorGraphInput, at: number, known: number): Generator<undefined, number> {
  const best: number[] = [];
  for (let row = 0; row < known; row++) {
    const score = nearness(input, at, row * input.dim);
    if (best.length < nearestCount || score > best.at(-1)!) {
      best.push(score);
      best.sort((a, b) => b - a);
      best.length = Math.min(best.length, nearestCount);
    }
    if (row % stepRows === 0) yield;
  }
  return best.at(-1)!;
}

/** Greater for what is nearer to one question; of no meaning between two. */
function nearness({ rows, dim, distance }: VectorGraphInput, question: number, row: number): number {
  let product = 0;
  let squared = 0;
  for (let i = 0; i < dim; i++) {
    const value = rows[row + i]!;
    product += rows[question + i]! * value;
    squared += value * value;
  }
  if (distance === "l2") return 2 * product - squared;
  return distance === "dot" || squared === 0 ? product : product / Math.sqrt(squared);
}
