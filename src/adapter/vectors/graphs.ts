import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type { Index, MetricKind, ScalarKind } from "usearch";
import { crc32 } from "../../port/checksum.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { SharedBytes } from "../../port/shared-bytes.ts";
import { syncFolder } from "../../port/sync-folder.ts";
import {
  type BuiltGraph,
  type GraphQuality,
  type VectorGraph,
  VectorGraphError,
  type VectorGraphInput,
  type VectorGraphs,
} from "../../port/vector-graph.ts";
import { decodeFooter, encodeFooter, type Footer, footerBytes } from "./footer.ts";
import { heldBack, type MeasuredQuality, measureQuality, qualityQuestions, suffices } from "./quality.ts";
import { RowOrder } from "./row-order.ts";
import { bentEffort, centreOf, hasManyZeros, scaleOf, scaleQuery, scaleRows, withoutCentre } from "./scale.ts";
import { type RowBits, rowBytesOf, type WalkInput, walkHeadBytes, walkPieces } from "./walk-file.ts";
import { WalkedGraph, walkBytesOf, walkMemory } from "./walked-graph.ts";

/** Every bound of the usearch adapter, named once with its unit. */
export const usearchLimits = {
  /** Rows and numbers added in one step: about half a millisecond. */
  stepRowsMax: 8,
  stepNumbersMax: 2_048,
  /** Of a file read at once when its checksum is made. */
  readBytes: 1024 * 1024,
  /** What needs more stays as usearch has it: a memory of WebAssembly has 4 GiB. */
  walkBytesMax: 4 * 1024 * 1024 * 1024 - 64 * 1024 * 1024,
} as const;

/** From so many rows on a graph is not soon made anew as part of a larger one, and its build is worth more time. */
const largeRowsMin = 32_768;

/**
 * Links of a row, and rows that are looked at to find them. Measured on the descriptions of 63,000 packages × 100, whose vectors
 * are the sums of their words': the large form finds 0.95 of the ten nearest with 32 candidates and 0.98 with 96; the small one, in
 * the same time, 0.83 and 0.89, and 0.95 with 256. It builds in half the time. In clusters both are nearly alike.
 */
const small = { connectivity: 16, expansion_add: 64 } as const;
const large = { connectivity: 32, expansion_add: 128 } as const;

function linksOf(rowCount: number): typeof small | typeof large {
  return rowCount < largeRowsMin ? small : large;
}

/** Of rows of 8 bits, those of 4 have to take this share at most: of few numbers they take as much. */
const halvedBytesShareMax = 2 / 3;

/** Bits of a row's numbers to try, the surer ones first. Small graphs lie in the processor's caches with either. */
function bitsOf(rowCount: number, dim: number): readonly RowBits[] {
  const isShorter = rowBytesOf(dim, 4) <= rowBytesOf(dim, 8) * halvedBytesShareMax;
  return rowCount >= largeRowsMin && isShorter ? [8, 4] : [8];
}

/**
 * Half precision with the exponent of single (bf16) has the recall of f32, as candidates are scored again exactly, at 0.6 of its
 * size and two thirds of its build time. i8 saves a third more, builds no faster, and fits cosine only.
 */
const quantization = "bf16" as ScalarKind;

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

let usearch: { Index: typeof Index } | undefined;

/** Loaded when first used: only collections with vectors need it. */
function newIndex(rowCount: number, dim: number, distance: VectorGraphInput["distance"]): Index {
  usearch ??= createRequire(import.meta.url)("usearch") as { Index: typeof Index };
  const metric = (distance === "l2" ? "l2sq" : "ip") as MetricKind;
  // The search explores as many candidates as it is asked for, but no fewer than this.
  const options = { ...linksOf(rowCount), quantization, expansion_search: 1, multi: false };
  return new usearch.Index({ dimensions: dim, metric, ...options });
}

export class UsearchGraphs implements VectorGraphs {
  readonly #pause: () => void;
  readonly #walkBytesMax: number;
  readonly #bitsOf: (rowCount: number, dim: number) => readonly RowBits[];

  /** `pause` is called between the steps of a build. `bits` tells those of a row's numbers to try. */
  constructor(
    pause: () => void = () => {},
    walkBytesMax: number = usearchLimits.walkBytesMax,
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
      await syncFile(partial);
      await rename(partial, path);
      await syncFolder(dirname(path));
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
      await using to = await open(file, "w");
      const pieces = form === "walk" ? walkPieces(from, content) : savedPieces(from);
      let graphBytes = 0;
      let checksum = 0;
      for await (const piece of pieces) {
        await to.writeFile(piece);
        checksum = crc32(piece, checksum);
        graphBytes += piece.length;
        await pause();
      }
      const what = { form, bits: content.bits, ...scale, rowCount: slots, dim, distance, graphBytes, checksum };
      await to.writeFile(encodeFooter({ ...what, patience: mayEndEarly ? patience : 0 }));
      return graphBytes + footerBytes;
    } finally {
      await rm(saved, { force: true });
    }
  }

  async open(path: string, quality?: GraphQuality): Promise<VectorGraph> {
    await using file = await open(path, "r").catch((error: unknown) => {
      throw new VectorGraphError("damaged", `${path}: can't be opened`, error);
    });
    const footer = await readFooter(file, path);
    if (footer.form === "usearch") {
      await verify(file, footer);
      return openUsearch(path, footer, quality);
    }
    const head = Buffer.alloc(walkHeadBytes);
    await file.read(head, 0, head.length, 0);
    const memory = walkMemory(footer, new Uint32Array(head.buffer, head.byteOffset, walkHeadBytes / 4));
    if (memory === undefined) throw new VectorGraphError("damaged", `${path}: is larger than any that is made`);
    await verify(file, footer, memory.graph);
    return new WalkedGraph(memory.shared, quality);
  }

  openShared(shared: SharedBytes, quality?: GraphQuality): VectorGraph {
    return new WalkedGraph(shared, quality);
  }
}

/** What earlier builds made: mapped into memory by usearch. */
function openUsearch(path: string, footer: Footer, quality: GraphQuality | undefined): VectorGraph {
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

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
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

/** Reads a graph, into memory where it is to stay there, and compares its checksum. */
async function verify(file: FileHandle, { graphBytes, checksum }: Footer, into?: Uint8Array): Promise<void> {
  const piece = into === undefined ? Buffer.allocUnsafe(Math.min(graphBytes, usearchLimits.readBytes)) : undefined;
  let sum = 0;
  for (let at = 0; at < graphBytes; ) {
    const wanted = Math.min(usearchLimits.readBytes, graphBytes - at);
    const part = piece?.subarray(0, wanted) ?? into!.subarray(at, at + wanted);
    const { bytesRead } = await file.read(part, 0, wanted, at);
    if (bytesRead === 0) throw new VectorGraphError("damaged", "the file ended while it was read");
    sum = crc32(part.subarray(0, bytesRead), sum);
    at += bytesRead;
  }
  if (sum !== checksum) throw new VectorGraphError("damaged", "a graph's checksum does not match");
}

async function readFooter(file: FileHandle, path: string): Promise<Footer> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(footerBytes);
  await file.read(bytes, 0, footerBytes, Math.max(0, size - footerBytes));
  const footer = decodeFooter(bytes);
  if (footer === undefined || footer.graphBytes !== size - footerBytes) {
    throw new VectorGraphError("damaged", `${path}: is no whole graph`);
  }
  return footer;
}
