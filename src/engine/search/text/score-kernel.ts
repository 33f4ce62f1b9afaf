import { homeOf, scratch, type WasmMemory } from "../../../port/shared-bytes.ts";
import type { Steps } from "../../turns.ts";
import type { PostingsCursor, StoredPostings } from "../index/postings.ts";
import type { TopK } from "../index/top-k.ts";
import { type ScoredPart, stepWindows } from "./max-score.ts";
import { scoreKernelBinary } from "./score-kernel-binary.ts";

/** The part of WebAssembly used here; the configured libraries do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

interface Scoring {
  readonly setSegment: (...addresses: number[]) => void;
  readonly setSearch: (
    room: number,
    allowed: number,
    docCount: number,
    base: number,
    slope: number,
    floor: number,
    wanted: number,
    clauses: number,
  ) => void;
  readonly begin: () => void;
  readonly setClause: (
    i: number,
    weight: number,
    firstBlock: number,
    lastBlock: number,
    frequency: number,
    postings: number,
  ) => void;
  readonly run: (windows: number) => number;
}

let module: object | undefined;

/** What the module has room for, and where things lie in the room of a thread: see wasm/text.ts. */
const clausesMax = 16;
const wantedMax = 512;
const foundAt = 4;
const heapScoresAt = 256;
const heapDocsAt = 4_352;
/** What a search needs from step to step ends here, and so does the room, before the documents that may be found. */
const stateBytes = 23_808;
const allowedAt = 40_448;

/**
 * `searchAny` over postings where they lie, for one thread. With 60,000 package descriptions and 16 clients text and hybrid queries take
 * 0.77 of the processor time of all threads.
 */
class ScoreKernel {
  readonly #code: Scoring;
  readonly #at: number;
  readonly #state: Uint8Array;
  readonly #allowed: Uint32Array;
  readonly #found: Uint32Array;
  readonly #scores: Float64Array;
  readonly #docs: Uint32Array;
  /** Counts searches: whether another one has used the room in between. */
  #users = 0;

  constructor(memory: WasmMemory, slot: number) {
    module ??= new WebAssembly.Module(Buffer.from(scoreKernelBinary, "base64"));
    this.#code = new WebAssembly.Instance(module, { env: { memory } }).exports as Scoring;
    this.#at = scratch.slotsFrom + scratch.slots * scratch.slotBytes + slot * scratch.textBytes;
    this.#state = new Uint8Array(memory.buffer, this.#at, stateBytes);
    this.#allowed = new Uint32Array(memory.buffer, this.#at + allowedAt, (scratch.textBytes - allowedAt) / 4);
    this.#found = new Uint32Array(memory.buffer, this.#at + foundAt, 1);
    this.#scores = new Float64Array(memory.buffer, this.#at + heapScoresAt, wantedMax);
    this.#docs = new Uint32Array(memory.buffer, this.#at + heapDocsAt, wantedMax);
  }

  /** Whether there is room for so much. */
  takes(clauses: number, k: number, part: ScoredPart): boolean {
    const words = part.allowed?.words.length ?? 0;
    return clauses <= clausesMax && k <= wantedMax && words <= this.#allowed.length && part.idsAscending;
  }

  *search(
    part: ScoredPart,
    stored: readonly StoredPostings[],
    weights: readonly number[],
    postings: readonly number[],
    top: TopK,
  ): Steps<void> {
    let user = this.#enter(part, stored, top);
    this.#code.begin();
    for (const [i, { firstBlock, lastBlock, frequency }] of stored.entries()) {
      this.#code.setClause(i, weights[i]!, firstBlock, lastBlock, frequency, postings[i]!);
    }
    while (this.#code.run(stepWindows) === 0) {
      const state = this.#state.slice();
      yield;
      if (user === this.#users) continue;
      user = this.#enter(part, stored, top);
      this.#state.set(state);
    }
    for (let i = 0; i < this.#found[0]!; i++) {
      const doc = this.#docs[i]!;
      top.offer(this.#scores[i]!, part.ids[doc]!, part.reader, doc);
    }
  }

  #enter({ allowed, docCount, base, slope }: ScoredPart, stored: readonly StoredPostings[], top: TopK): number {
    const { text } = stored[0]!;
    this.#code.setSegment(
      text.lengths.byteOffset,
      text.blockFirsts.byteOffset,
      text.blockLasts.byteOffset,
      text.blockDocAts.byteOffset,
      text.blockFreqAts.byteOffset,
      text.blockShapes.byteOffset,
      text.blockMaxFreqs.byteOffset,
      text.blockMinLengths.byteOffset,
      text.pool8.byteOffset,
      text.pool16.byteOffset,
      text.pool32.byteOffset,
    );
    if (allowed !== undefined) this.#allowed.set(allowed.words);
    const allowedFrom = allowed === undefined ? 0 : this.#allowed.byteOffset;
    this.#code.setSearch(this.#at, allowedFrom, docCount, base, slope, top.threshold, top.k, stored.length);
    return ++this.#users;
  }
}

const placed = new WeakMap<WasmMemory, ScoreKernel | "none">();

/** The steps of the search where all postings lie in memory that the module can read; else undefined. */
export function searchInPlace(
  part: ScoredPart,
  cursors: readonly PostingsCursor[],
  weights: readonly number[],
  postings: readonly number[],
  top: TopK,
): Steps<void> | undefined {
  const stored: StoredPostings[] = [];
  for (const cursor of cursors) {
    if (cursor.stored === undefined) return undefined;
    stored.push(cursor.stored);
  }
  const home = homeOf(stored[0]!.text.lengths.buffer);
  const kernel = home && kernelOn(home);
  return kernel?.takes(stored.length, top.k, part) ? kernel.search(part, stored, weights, postings, top) : undefined;
}

function kernelOn(home: WasmMemory): ScoreKernel | undefined {
  let known = placed.get(home);
  if (known === undefined) {
    const slot = Atomics.add(new Int32Array(home.buffer, 4, 1), 0, 1);
    known = slot < scratch.slots ? new ScoreKernel(home, slot) : "none";
    placed.set(home, known);
  }
  return known === "none" ? undefined : known;
}
