import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { nextTurn } from "../../port/next-turn.ts";
import type { SharedBytes } from "../../port/shared-bytes.ts";
import {
  type BuiltGraph,
  type GraphQuality,
  usualCandidates,
  type VectorGraph,
  type VectorGraphInput,
  type VectorGraphs,
} from "../../port/vector-graph.ts";
import { codesLayout, codesPieces } from "./codes-file.ts";
import { finishGraph, writeGraph } from "./graph-file.ts";
import { openGraph, openSharedGraph } from "./open.ts";
import { heldBack, nearestCount, nearness, type QualityQuestion, qualityQuestions, recallAim } from "./quality.ts";
import { RowOrder } from "./row-order.ts";
import { lengthOf, scaleOf } from "./scale.ts";

/** Codes that take more are compared in more time than a walk takes: 4 MiB in about 0.2 ms. */
const codesBytesMax = 4 * 1024 * 1024;

/** Numbers of a part to try, and up to how many dimensions: with shorter parts more is known of a row, and more is to compare. */
const partNumbers = [
  { dimMax: 24, numbers: [1] },
  { dimMax: 256, numbers: [2, 1] },
  { dimMax: 1_024, numbers: [4, 2] },
  { dimMax: Number.POSITIVE_INFINITY, numbers: [8, 4] },
] as const;

/** Candidates to try, and how many are listed for each: as searches do that go on where more may be near. */
const attempts = [64, 96, 128, 192, 256];
const listedPerCandidate = 8;
/** Half as many questions as for graphs: the error of the codes tells where more candidates are needed. */
const questionsMax = 64;
/** Of the nearest to questions unlike the rows, so many should be found. */
const unlikeRecallMin = 0.95;

/**
 * Makes short codes of rows where comparing all of these takes less time than the walk through a graph and finds enough of the nearest;
 * else a graph. Measured on the descriptions of 63,000 packages × 100: a build takes 4 s of processor time (50 s for the graph), and a vector
 * query of 16 clients 0.76 of that of all threads.
 */
export class NearRows implements VectorGraphs {
  readonly #graphs: VectorGraphs;
  readonly #pause: () => void;
  readonly #bytesMax: number;

  /** `pause` is called between the steps of a build. */
  constructor(graphs: VectorGraphs, pause: () => void = () => {}, bytesMax: number = codesBytesMax) {
    this.#graphs = graphs;
    this.#pause = pause;
    this.#bytesMax = bytesMax;
  }

  async build(path: string, input: VectorGraphInput, signal?: AbortSignal): Promise<BuiltGraph> {
    const { rows, dim } = input;
    const { numbers } = partNumbers.find(({ dimMax }) => dim <= dimMax)!;
    for (const each of numbers) {
      if (codesLayout(each, rows.length / dim, dim).bytes > this.#bytesMax) break;
      const built = await this.#buildCodes(path, input, each, signal);
      if (built !== undefined) return built;
    }
    return this.#graphs.build(path, input, signal);
  }

  /** Undefined where the codes find too few of the nearest. */
  async #buildCodes(
    path: string,
    input: VectorGraphInput,
    numbers: number,
    signal: AbortSignal | undefined,
  ): Promise<BuiltGraph | undefined> {
    const { rows, dim, distance } = input;
    const rowCount = rows.length / dim;
    const held = Math.min(questionsMax, heldBack(rowCount));
    if (!Number.isInteger(rowCount) || held === 0) return undefined;
    signal?.throwIfAborted();
    await mkdir(dirname(path), { recursive: true });
    const pause = async () => {
      this.#pause();
      await nextTurn();
      signal?.throwIfAborted();
    };
    // Lengths need not be drawn together: no row has to link to another one.
    const scale = { ...scaleOf(input), bent: false };
    const partial = `${path}.partial`;
    try {
      const what = { form: "codes", bits: 8, ...scale, rowCount, dim, distance, patience: 0 } as const;
      const bytes = await writeGraph(partial, codesPieces(input, scale, numbers), what, pause);
      const codes = await openGraph(partial);
      const quality = await measured(codes, input, held, pause);
      codes.close();
      if (quality === undefined) return undefined;
      await finishGraph(partial, path);
      return { bytes, quality };
    } finally {
      await rm(partial, { force: true });
    }
  }

  open(path: string, quality?: GraphQuality): Promise<VectorGraph> {
    return openGraph(path, quality);
  }

  openShared(shared: SharedBytes, quality?: GraphQuality): VectorGraph {
    return openSharedGraph(shared, quality);
  }
}

/** How many candidates are needed, by questions near some rows, without these rows themselves, and by questions unlike any. */
async function measured(
  codes: VectorGraph,
  input: VectorGraphInput,
  held: number,
  pause: () => Promise<void>,
): Promise<GraphQuality | undefined> {
  const order = new RowOrder(codes.rowCount);
  const known = new Uint32Array(Math.ceil(codes.rowCount / 32));
  for (let slot = 0; slot < codes.rowCount - held; slot++) {
    const row = order.rowOf(slot);
    known[row >>> 5]! |= 1 << (row & 31);
  }
  const steps = qualityQuestions(input, order, held, true);
  let step = steps.next();
  for (; !step.done; step = steps.next()) await pause();
  const answerable = step.value.filter(({ query }) => codes.search(query, 1) !== undefined);
  for (const candidates of attempts) {
    const [like, unlike] = [
      { found: 0, asked: 0 },
      { found: 0, asked: 0 },
    ];
    for (const question of answerable) {
      const of = question.isUnlike ? unlike : like;
      of.found += foundOf(codes, input, question, known, candidates);
      of.asked += nearestCount;
      await pause();
    }
    if (like.asked === 0) return undefined;
    const recall = like.found / like.asked;
    if (recall < recallAim || unlike.found < unlikeRecallMin * unlike.asked) continue;
    return { effort: candidates / usualCandidates, recall };
  }
  return undefined;
}

/** Of the nearest, those that are found if so many candidates are looked at, and then as many as may be as near. */
function foundOf(
  codes: VectorGraph,
  input: VectorGraphInput,
  { query, worst }: QualityQuestion,
  known: Uint32Array,
  candidates: number,
): number {
  const list = codes.nearestOf(query, known, 0, candidates * listedPerCandidate)!;
  const best: number[] = [];
  for (let from = 0, reaching = candidates; from < reaching && from < list.length; ) {
    const to = Math.min(reaching, from + candidates);
    for (const row of list.subarray(from, to)) best.push(nearness(input, query, row * input.dim));
    best.sort((a, b) => b - a);
    best.length = Math.min(best.length, nearestCount);
    from = to;
    reaching = codes.reaching!(scoreOf(input, query, best.at(-1)!));
  }
  return best.filter((each) => each >= worst).length;
}

/** The score of a row that is so near to a query. */
function scoreOf({ distance, dim }: VectorGraphInput, query: Float32Array, near: number): number {
  const length = lengthOf(query, 0, dim);
  if (distance === "l2") return 1 / (1 + Math.max(0, length * length - near));
  return distance === "dot" ? near : near / length;
}
