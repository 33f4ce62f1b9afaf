import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Dice } from "../sim/dice.ts";
import { loadCorpus, saveCorpus } from "./corpus.ts";
import { Coverage } from "./coverage.ts";
import { mutate } from "./mutate.ts";
import type { GuidedInputs, MadeInputs, OpenTarget, Target, TargetContext } from "./target.ts";
import { Watchdog } from "./watchdog.ts";

export interface RunOptions {
  readonly seed: number;
  /** A run ends with the first of both. */
  readonly seconds: number;
  readonly inputsMax: number;
  /** Whether coverage guides; without it the inputs of a seed are the same each time, and many more. */
  readonly guide: boolean;
  /** Puts what was found to reach something new into the corpus that is kept. */
  readonly keep: boolean;
}

export interface RunReport {
  readonly target: string;
  readonly inputs: number;
  readonly seconds: number;
  /** Blocks of the sources that the inputs reached; undefined where coverage does not guide. */
  readonly blocks: number | undefined;
  readonly corpus: number;
  readonly finding: FoundInput | undefined;
}

export interface FoundInput {
  readonly error: unknown;
  readonly file: string;
  readonly input: Buffer;
}

export const fuzzLimits = {
  /** An input that takes longer than this is taken for one that never ends. */
  hangMs: 20_000,
  /** CPU time of one input; the machine may be busy, which this does not count. */
  cpuMsMax: 2_500,
  batchMin: 32,
  batchMax: 8_192,
  /** So many first inputs are looked at whatever it takes. */
  siftedFirst: 500,
  corpusMax: 4_000,
  checkEvery: 500,
} as const;

function fileFor(target: string, seed: number): string {
  const folder = join(tmpdir(), "native-engine-fuzz");
  mkdirSync(folder, { recursive: true });
  return join(folder, `${target}-${seed}-${process.pid}.input`);
}

export async function runTarget(target: Target, context: TargetContext, options: RunOptions): Promise<RunReport> {
  await using open = await target.open(context);
  const { inputs } = open;
  const file = fileFor(target.name, options.seed);
  const run =
    inputs.kind === "guided"
      ? new GuidedRun(target.name, open, inputs, options, file)
      : new MadeRun(target.name, open, inputs, options, file);
  return await run.go();
}

/** Runs one input again, as a file of a finding holds it. */
export async function replay(target: Target, context: TargetContext, input: Buffer): Promise<void> {
  await using open = await target.open(context);
  await open.run(input);
  await open.check?.();
}

class Stopped extends Error {
  readonly input: Buffer;

  constructor(input: Buffer, cause: unknown) {
    super("an input was found", { cause });
    this.input = input;
  }
}

abstract class Run {
  protected readonly name: string;
  protected readonly open: OpenTarget;
  protected readonly options: RunOptions;
  protected readonly dice: Dice;
  protected inputs = 0;
  protected blocks: number | undefined;
  protected corpus = 0;
  readonly #file: string;
  readonly #startMs = performance.now();

  constructor(name: string, open: OpenTarget, options: RunOptions, file: string) {
    this.name = name;
    this.open = open;
    this.options = options;
    this.dice = new Dice(options.seed);
    this.#file = file;
  }

  protected abstract loop(): Promise<void>;

  protected get isOver(): boolean {
    return this.inputs >= this.options.inputsMax || this.#seconds >= this.options.seconds;
  }

  get #seconds(): number {
    return (performance.now() - this.#startMs) / 1000;
  }

  async go(): Promise<RunReport> {
    let finding: FoundInput | undefined;
    try {
      await this.loop();
      await this.open.check?.();
    } catch (error) {
      const input = error instanceof Stopped ? error.input : Buffer.alloc(0);
      writeFileSync(this.#file, input);
      finding = { error: error instanceof Stopped ? error.cause : error, file: this.#file, input };
    }
    const { inputs, blocks, corpus } = this;
    return { target: this.name, inputs, seconds: this.#seconds, blocks, corpus, finding };
  }

  protected async feed(input: Buffer): Promise<void> {
    this.inputs++;
    try {
      await this.open.run(input);
    } catch (error) {
      throw new Stopped(input, error);
    }
  }

  protected get file(): string {
    return this.#file;
  }
}

class MadeRun extends Run {
  readonly #made: MadeInputs;
  readonly #underWay = new Set<Buffer>();
  #isFound = false;

  constructor(name: string, open: OpenTarget, made: MadeInputs, options: RunOptions, file: string) {
    super(name, open, options, file);
    this.#made = made;
  }

  protected async loop(): Promise<void> {
    let last: Buffer = Buffer.alloc(0);
    while (!this.isOver) {
      // What is looked at now and then is looked at while nothing is under way.
      const until = this.inputs + fuzzLimits.checkEvery;
      const lanes = Array.from({ length: this.#made.lanes ?? 1 }, async () => {
        while (!this.isOver && !this.#isFound && this.inputs < until) {
          last = Buffer.from(this.#made.make(this.dice));
          await this.#tried(last);
        }
      });
      for (const lane of await Promise.allSettled(lanes)) {
        if (lane.status === "rejected") throw await this.#guilty(lane.reason as Stopped);
      }
      try {
        await this.open.check?.();
      } catch (error) {
        throw new Stopped(last, error);
      }
    }
  }

  async #tried(input: Buffer): Promise<void> {
    this.#underWay.add(input);
    try {
      await this.feed(input);
      this.#underWay.delete(input);
    } catch (error) {
      this.#isFound = true;
      throw error;
    }
  }

  /** Of the inputs that failed together the one that fails alone too, where there is one. */
  async #guilty(found: Stopped): Promise<Stopped> {
    if (this.#made.lanes === undefined) return found;
    for (const input of this.#underWay) {
      try {
        await this.open.run(input);
      } catch (error) {
        return new Stopped(input, error);
      }
    }
    return found;
  }
}

class GuidedRun extends Run {
  readonly #guided: GuidedInputs;
  #pool: Buffer[] = [];
  #ranMs = 0;

  constructor(name: string, open: OpenTarget, guided: GuidedInputs, options: RunOptions, file: string) {
    super(name, open, options, file);
    this.#guided = guided;
  }

  protected async loop(): Promise<void> {
    const { seeds, sources } = this.#guided;
    const message = `${this.name}: an input did not end within ${fuzzLimits.hangMs} ms; it is in ${this.file}`;
    await using watchdog = new Watchdog(this.file, message, fuzzLimits.hangMs);
    const first = [...seeds.map((seed) => Buffer.from(seed as string)), ...loadCorpus(this.name)];
    if (!this.options.guide) return await this.#mutateAll(first, watchdog);
    using coverage = new Coverage(sources);
    // What every input of the corpus brings, then what changed ones bring in their turn.
    for (const input of first) {
      await this.#watched(input, watchdog);
      if (coverage.fresh(true) > 0 || this.#pool.length === 0) this.#pool.push(input);
    }
    while (!this.isOver) {
      const inputs: Buffer[] = [];
      const startMs = performance.now();
      // Reading the counters takes as long as many inputs, so that it is done once these have taken as long.
      while (!this.isOver && inputs.length < fuzzLimits.batchMax) {
        if (inputs.length >= fuzzLimits.batchMin && performance.now() - startMs > coverage.readMs) break;
        const input = this.#next();
        inputs.push(input);
        await this.#watched(input, watchdog);
      }
      this.#ranMs += performance.now() - startMs;
      if (coverage.fresh(false) === 0) continue;
      // What is new will be new again in a later batch.
      if (coverage.allReadMs < this.#ranMs || this.inputs < fuzzLimits.siftedFirst) await this.#sift(inputs, coverage);
    }
    this.blocks = coverage.blocks;
    this.corpus = this.#pool.length;
    if (this.options.keep) await this.#keep(coverage);
  }

  async #mutateAll(first: readonly Buffer[], watchdog: Watchdog): Promise<void> {
    for (const input of first) await this.#watched(input, watchdog);
    this.#pool = [...first];
    while (!this.isOver) await this.#watched(this.#next(), watchdog);
  }

  /** Finds the inputs that reach something new by halving, since reading the counters takes longer than an input. */
  async #sift(inputs: readonly Buffer[], coverage: Coverage): Promise<void> {
    for (const input of inputs) await this.open.run(input);
    if (inputs.length === 1) {
      if (coverage.fresh(true) > 0 && this.#pool.length < fuzzLimits.corpusMax) this.#pool.push(inputs[0]!);
      return;
    }
    if (coverage.fresh(false) === 0) return;
    const middle = inputs.length >> 1;
    await this.#sift(inputs.slice(0, middle), coverage);
    await this.#sift(inputs.slice(middle), coverage);
  }

  #next(): Buffer {
    const { words, bytesMax, mend } = this.#guided;
    const { dice } = this;
    // The newest inputs reach what is least known.
    const from = dice.chance(0.5) ? Math.max(0, this.#pool.length - 20) : 0;
    const given = this.#pool[dice.between(from, this.#pool.length - 1)]!;
    const made = mutate(given, dice.pick(this.#pool), words, bytesMax, dice);
    return mend === undefined ? made : mend(Buffer.from(made), dice);
  }

  async #watched(input: Buffer, watchdog: Watchdog): Promise<void> {
    watchdog.begin(input);
    const before = process.cpuUsage();
    await this.feed(input);
    watchdog.end();
    const used = process.cpuUsage(before);
    const cpuMs = (used.user + used.system) / 1000;
    if (cpuMs > fuzzLimits.cpuMsMax)
      throw new Stopped(input, new Error(`an input took ${Math.round(cpuMs)} ms of CPU`));
  }

  /** The smallest inputs that together reach all that the pool reaches. */
  async #keep(coverage: Coverage): Promise<void> {
    const reached: { readonly input: Buffer; readonly blocks: ReadonlySet<string> }[] = [];
    for (const input of [...this.#pool].sort((x, y) => x.length - y.length)) {
      coverage.reset();
      await this.open.run(input);
      reached.push({ input, blocks: coverage.ran() });
    }
    const known = new Set<string>();
    const kept: Buffer[] = [];
    for (const { input, blocks } of reached) {
      const size = known.size;
      for (const block of blocks) known.add(block);
      if (known.size > size) kept.push(input);
    }
    this.corpus = saveCorpus(this.name, kept);
  }
}
