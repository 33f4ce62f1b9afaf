import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Index } from "usearch";
import { nextTurn } from "../../port/next-turn.ts";
import type { SharedBytes } from "../../port/shared-bytes.ts";
import {
  type BuiltGraph,
  type GraphQuality,
  type VectorGraph,
  VectorGraphError,
  type VectorGraphInput,
  type VectorGraphs,
} from "../../port/vector-graph.ts";
import type { Footer, RowBits } from "./footer.ts";
import { finishGraph, writeGraph } from "./graph-file.ts";
import { memoryBytesMax } from "./graph-memory.ts";
import { openGraph, openSharedGraph } from "./open.ts";
import { heldBack, type MeasuredQuality, measureQuality, qualityQuestions, suffices } from "./quality.ts";
import { RowOrder } from "./row-order.ts";
import { centreOf, hasManyZeros, scaleOf, scaleRows, withoutCentre } from "./scale.ts";
import { largeRowsMin, linksOf, newIndex } from "./usearch-graph.ts";
import { rowBytesOf, type WalkInput, walkPieces } from "./walk-file.ts";
import { walkBytesOf } from "./walked-graph.ts";

/** Every bound of the usearch adapter, named once with its unit. */
export const usearchLimits = {
  /** Rows and numbers added in one step: about half a millisecond. */
  stepRowsMax: 8,
  stepNumbersMax: 2_048,
  /** Of what usearch has saved, read at once. */
  readBytes: 1024 * 1024,
} as const;

/** Of rows of 8 bits, those of 4 have to take this share at most: of few numbers they take as much. */
const halvedBytesShareMax = 2 / 3;

/** Bits of a row's numbers to try, the surer ones first. Small graphs lie in the processor's caches with either. */
function bitsOf(rowCount: number, dim: number): readonly RowBits[] {
  const isShorter = rowBytesOf(dim, 4) <= rowBytesOf(dim, 8) * halvedBytesShareMax;
  return rowCount >= largeRowsMin && isShorter ? [8, 4] : [8];
}

/**
 * See `Footer`. Fewer candidates are enough for most questions than for those between the rows, by which their number is chosen:
 * a vector query for ten of the packages' descriptions takes 0.78 of the time.
 */
const patience = 10;

interface RowForm {
  readonly bits: RowBits;
  readonly mayEndEarly: boolean;
}

interface MeasuredForm extends MeasuredQuality, RowForm {}

export class UsearchGraphs implements VectorGraphs {
  readonly #pause: () => void;
  readonly #walkBytesMax: number;
  readonly #bitsOf: (rowCount: number, dim: number) => readonly RowBits[];

  /** `pause` is called between the steps of a build; what needs more bytes than given stays as usearch has it. `bits` tells those of a row's numbers to try. */
  constructor(
    pause: () => void = () => {},
    walkBytesMax: number = memoryBytesMax,
    bits: (rowCount: number, dim: number) => readonly RowBits[] = bitsOf,
  ) {
    this.#pause = pause;
    this.#walkBytesMax = walkBytesMax;
    this.#bitsOf = bits;
  }

  async build(path: string, input: VectorGraphInput, signal?: AbortSignal): Promise<BuiltGraph> {
    const { rows, dim, distance } = input;
    const rowCount = rows.length / dim;
    if (!Number.isInteger(rowCount)) throw new VectorGraphError("failed", `${rows.length} is no multiple of ${dim}`);
    signal?.throwIfAborted();
    await mkdir(dirname(path), { recursive: true });
    const scale = scaleOf(input);
    const form = walkBytesOf(rowCount, dim, linksOf(rowCount).connectivity) > this.#walkBytesMax ? "usearch" : "walk";
    const centre = form === "walk" ? centreOf(input, scale) : new Float32Array(dim);
    // Of rows of length 1 the nearest by l2 are those by cosine; and by l2 the centre may be taken off, which leaves more of
    // their differences in 16 bits.
    const isCentred = form === "walk" && distance !== "dot" && !(distance === "cosine" && hasManyZeros(input));
    const index = newIndex(rowCount, dim, isCentred ? "l2" : distance);
    const step = Math.max(1, Math.min(usearchLimits.stepRowsMax, Math.floor(usearchLimits.stepNumbersMax / dim)));
    const pause = async () => {
      this.#pause();
      await nextTurn();
      signal?.throwIfAborted();
    };
    const order = new RowOrder(rowCount);
    const add = async (first: number, end: number) => {
      for (let from = first; from < end; from += step) {
        const to = Math.min(end, from + step);
        const keys = new BigUint64Array(to - from);
        for (let slot = from; slot < to; slot++) keys[slot - from] = BigInt(order.rowOf(slot));
        const scaled = scaleRows({ ...input, rows: order.rowsOf(rows, dim, from, to) }, scale, 0, to - from);
        // One thread: of the rows that several add at the same time about one in a thousand is found by no search afterwards. To add
        // again those that nothing links to is not enough: some have links, but to the wrong place.
        index.add(keys, isCentred ? withoutCentre(scaled, centre) : scaled, 1);
        await pause();
      }
    };
    const write = (file: string, slots: number, { bits, mayEndEarly }: RowForm) =>
      this.#write(file, index, form, { ...input, order, slots, scale, centre, bits }, mayEndEarly, pause);
    const heldBackRows = heldBack(rowCount);
    await add(0, rowCount - heldBackRows);
    const measured = `${path}.measured`;
    const partial = `${path}.partial`;
    try {
      const found =
        heldBackRows === 0 ? undefined : await this.#measured(measured, input, form, order, heldBackRows, write, pause);
      await add(rowCount - heldBackRows, rowCount);
      const bytes = await write(partial, rowCount, found ?? { bits: 8, mayEndEarly: false });
      await finishGraph(partial, path);
      return { bytes, quality: found?.quality };
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }

  /** The quality of the graph so far, in the form in which searching it costs least. */
  async #measured(
    file: string,
    input: VectorGraphInput,
    form: Footer["form"],
    order: RowOrder,
    held: number,
    write: (file: string, slots: number, form: RowForm) => Promise<number>,
    pause: () => Promise<void>,
  ): Promise<MeasuredForm | undefined> {
    const run = async <T>(steps: Generator<undefined, T>): Promise<T> => {
      let step = steps.next();
      for (; !step.done; step = steps.next()) await pause();
      return step.value;
    };
    // What usearch walks has the rows' own numbers as keys.
    const rowOf = (found: number) => (form === "walk" ? order.rowOf(found) : found);
    const forms = form === "walk" ? this.#bitsOf(order.rowCount, input.dim) : [8 as const];
    const questions = await run(qualityQuestions(input, order, held, forms.length > 1));
    let best: MeasuredForm | undefined;
    try {
      for (const bits of forms) {
        await write(file, order.rowCount - held, { bits, mayEndEarly: true });
        const graph = await this.open(file);
        const measured = await run(measureQuality(graph, input, questions, rowOf));
        graph.close();
        if (measured === undefined) continue;
        const found = { ...measured, bits };
        if (best === undefined || suffices(found, best)) best = found;
      }
      return best;
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Writes a graph's file; returns its size. */
  async #write(
    file: string,
    index: Index,
    form: Footer["form"],
    content: WalkInput,
    mayEndEarly: boolean,
    pause: () => Promise<void>,
  ): Promise<number> {
    const { dim, distance, scale, slots } = content;
    const saved = `${file}.saved`;
    try {
      index.save(saved);
      await using from = await open(saved, "r");
      const pieces = form === "walk" ? walkPieces(from, content) : savedPieces(from);
      const what = { form, bits: content.bits, ...scale, rowCount: slots, dim, distance };
      return await writeGraph(file, pieces, { ...what, patience: mayEndEarly ? patience : 0 }, pause);
    } finally {
      await rm(saved, { force: true });
    }
  }

  open(path: string, quality?: GraphQuality): Promise<VectorGraph> {
    return openGraph(path, quality);
  }

  openShared(shared: SharedBytes, quality?: GraphQuality): VectorGraph {
    return openSharedGraph(shared, quality);
  }
}

async function* savedPieces(file: FileHandle): AsyncGenerator<Uint8Array> {
  const { size } = await file.stat();
  for (let at = 0; at < size; ) {
    const piece = Buffer.allocUnsafe(Math.min(usearchLimits.readBytes, size - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) throw new Error("what usearch saved ends early");
    yield piece.subarray(0, bytesRead);
    at += bytesRead;
  }
}
