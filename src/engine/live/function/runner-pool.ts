import { type Child, ChildLost, type Children } from "../../../port/children.ts";
import type { Clock } from "../../../port/clock.ts";
import { LruMap } from "../../../port/lru-map.ts";
import { wallMsOf } from "../../../port/sandbox.ts";
import { EngineError, unavailable } from "../../errors.ts";
import { FunctionFault, overLimit } from "../fault.ts";
import { type LiveSettings, liveLimits } from "../settings.ts";
import type { RunAnswer, RunEnd, RunnerQuestion, RunRequest } from "./messages.ts";

/** The runner was lost with the run, which must start over. */
export class RunLost extends Error {}

/** It takes longer than expected and must start over in a runner where it blocks nobody. */
export class RunSlow extends Error {}

/** Runs it again where its runner was lost, or it was thought to be short and is not. */
export async function rerun<T>(run: (losses: number) => Promise<T>): Promise<T> {
  for (let losses = 0; ; ) {
    try {
      return await run(losses);
    } catch (error) {
      if (error instanceof RunLost) losses++;
      else if (!(error instanceof RunSlow)) throw error;
    }
  }
}

export interface Job {
  readonly bundle: string;
  /** What its runs are alike in, for how long they take. */
  readonly name: string;
  /** The text of the bundle. */
  readonly code: () => string;
  readonly request: object;
  /** Does what the run asks for, a list as JSON, and answers in kind. */
  readonly answer: (ops: string) => Promise<string>;
  /** How often it was lost before: one that was is run where nobody else is lost with it, and before others. */
  readonly losses: number;
}

interface Queued extends Job {
  readonly id: number;
  readonly resolve: (end: RunEnd) => void;
  readonly reject: (error: unknown) => void;
  /** When it is late by the clock; Infinity until it has begun. */
  lateMs: number;
  isLate: boolean;
  /** Runs of its function were slow of late. */
  isSlow: boolean;
}

interface Runner {
  readonly child: Child;
  readonly running: Map<number, Queued>;
  /** Never rejects: requests to a lost child are answered with the loss. */
  readonly isReady: Promise<unknown>;
  /** Has a run that has lost a runner already: nobody else is to be lost with it. */
  isAlone: boolean;
  /** Since when it owes an answer to the question whether it listens; Infinity until it has started. */
  askedMs: number | undefined;
}

/** Runs that one process works on at once: while one waits for its tables another computes. */
const runsPerRunner = 4;
/** The rest is for short ones: they pass by those that are slow. */
const slowPerRunner = runsPerRunner - 1;
/** What a run may take beside its processor time: for tables, and for its wait on a busy machine. */
const slackMs = 10_000;
const lossesMax = 2;
/** How often one looks for runs that are late. */
const lookMs = 500;
/** How long a runner may be deaf: some built-ins heed no time-out, and hold its thread. */
const deafMsMax = 2_500;
/** A check that comes this late means that the machine was suspended, not that a runner hangs. */
const lookMsMax = 2 * lookMs;
const hello: RunRequest = { run: 0, bundle: "", heapBytes: 0, cpuMs: 0, isBrief: false, request: "" };
/** Runs of a slow function after which it is tried again as a short one: the machine may have stood still. */
const slowRuns = 100;
/** Functions that are known to be slow. */
const slowMax = 1_000;

function slowOf({ running }: Runner): number {
  let count = 0;
  for (const { isSlow } of running.values()) if (isSlow) count++;
  return count;
}

/** The processes that run functions. One that is late or dead is replaced, and what else it had at work is run again. */
export class RunnerPool {
  readonly #children: Children | undefined;
  readonly #clock: Clock;
  readonly #settings: LiveSettings;
  readonly #runners = new Set<Runner>();
  readonly #queue: Queued[] = [];
  /** Functions that are not short, and for how many runs more they are not tried. */
  readonly #slow = new LruMap<string, number>(slowMax);
  #looking: Promise<void> | undefined;
  #ids = 0;
  #isClosed = false;

  constructor(children: Children | undefined, clock: Clock, settings: LiveSettings) {
    this.#clock = clock;
    this.#children = children;
    this.#settings = settings;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  get running(): number {
    let count = 0;
    for (const { running } of this.#runners) count += running.size;
    return count;
  }

  /** Rejects with a `FunctionFault` where the run passed a limit, with `RunLost` where its runner was lost, with `unavailable` the second time. */
  run(job: Job): Promise<RunEnd> {
    if (this.#isClosed) return Promise.reject(unavailable("the server is shutting down"));
    if (this.#children === undefined) {
      return Promise.reject(new EngineError("not_implemented", "this process runs no functions"));
    }
    if (this.#queue.length >= liveLimits.callsMax) {
      return Promise.reject(
        new EngineError("resource_exhausted", "too many functions wait to run", { retryAfterMs: 1000 }),
      );
    }
    return new Promise((resolve, reject) => {
      const queued = {
        ...job,
        id: ++this.#ids,
        resolve,
        reject,
        lateMs: Number.POSITIVE_INFINITY,
        isLate: false,
        isSlow: false,
      };
      if (job.losses > 0) this.#queue.unshift(queued);
      else this.#queue.push(queued);
      this.#dispatch();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#queue.splice(0)) job.reject(unavailable("the server is shutting down"));
    await this.#children?.close();
  }

  #dispatch(): void {
    let slowWait = false;
    for (let at = 0; at < this.#queue.length; ) {
      const job = this.#queue[at]!;
      job.isSlow = this.#slow.has(job.name);
      const runner = job.isSlow && slowWait ? undefined : this.#runnerFor(job);
      if (runner !== undefined) {
        this.#queue.splice(at, 1);
        runner.isAlone = job.losses > 0;
        void this.#runOn(runner, job);
      } else if (job.isSlow) {
        slowWait = true;
        at++;
      } else return;
    }
  }

  #runnerFor(job: Queued): Runner | undefined {
    const room = job.losses > 0 ? 0 : runsPerRunner - 1;
    let best: Runner | undefined;
    for (const runner of this.#runners) {
      if (runner.isAlone || runner.running.size > room) continue;
      if (job.isSlow && slowOf(runner) >= slowPerRunner) continue;
      if (best === undefined || runner.running.size < best.running.size) best = runner;
    }
    if (best !== undefined && (best.running.size === 0 || this.#runners.size >= this.#settings.runners)) return best;
    return this.#runners.size < this.#settings.runners ? this.#start(this.#children!) : best;
  }

  #start(children: Children): Runner {
    const running = new Map<number, Queued>();
    const child = children.take((message) => this.#answer(running, message as RunnerQuestion));
    const isReady = child.request(hello).catch(() => undefined);
    const runner: Runner = { child, running, isReady, isAlone: false, askedMs: undefined };
    this.#runners.add(runner);
    child.onLost(() => this.#runners.delete(runner));
    return runner;
  }

  async #runOn(runner: Runner, job: Queued): Promise<void> {
    const { runCpuMs: cpuMs, runHeapBytes: heapBytes } = this.#settings;
    const { id: run, bundle } = job;
    const isBrief = job.losses === 0 && this.#isShort(job.name);
    const message: RunRequest = { run, bundle, heapBytes, cpuMs, isBrief, request: JSON.stringify(job.request) };
    runner.running.set(run, job);
    await runner.isReady;
    job.lateMs = this.#clock.steadyMs() + wallMsOf(cpuMs) + slackMs;
    this.#looking ??= this.#lookForLate();
    try {
      const answer = (await runner.child.request(message)) as RunAnswer;
      this.#end(job, answer);
      if (answer.fault?.isStuck === true) runner.child.kill("late");
    } catch (error) {
      this.#lost(runner, job, error);
    } finally {
      runner.running.delete(run);
      if (runner.running.size === 0) runner.isAlone = false;
      this.#dispatch();
    }
  }

  /** One for all runs: a timer for each would cost a run more than most of what it does. */
  async #lookForLate(): Promise<void> {
    while (this.running > 0) {
      const sinceMs = this.#clock.steadyMs();
      await this.#clock.sleep(lookMs);
      const nowMs = this.#clock.steadyMs();
      for (const runner of this.#runners) {
        const late = [...runner.running.values()].filter((job) => job.lateMs < nowMs);
        for (const job of late) job.isLate = true;
        const isDeaf = nowMs - (runner.askedMs ?? nowMs) > deafMsMax && nowMs - sinceMs < lookMsMax;
        if (late.length > 0 || isDeaf) this.#giveUp(runner);
        else if (runner.askedMs === undefined && runner.running.size > 0) void this.#ask(runner);
      }
    }
    this.#looking = undefined;
  }

  /** What it runs is not tried as short again for a while. */
  #giveUp({ child, running }: Runner): void {
    for (const { name } of running.values()) this.#noteSlow(name);
    child.kill("late");
  }

  async #ask(runner: Runner): Promise<void> {
    runner.askedMs = Number.POSITIVE_INFINITY;
    await runner.isReady;
    runner.askedMs = this.#clock.steadyMs();
    await runner.child.request(hello).catch(() => undefined);
    runner.askedMs = undefined;
  }

  #isShort(name: string): boolean {
    const left = this.#slow.get(name);
    if (left === undefined) return true;
    if (left > 1) this.#slow.set(name, left - 1);
    else this.#slow.delete(name);
    return false;
  }

  #end(job: Queued, { end, fault }: RunAnswer): void {
    if (fault === undefined) {
      if (end.length > liveLimits.resultCharactersMax) job.reject(overLimit("gave back too much"));
      else job.resolve(JSON.parse(end) as RunEnd);
      return;
    }
    const { kind, message } = fault;
    if (kind === "slow") {
      this.#noteSlow(job.name);
      job.reject(new RunSlow());
      return;
    }
    job.reject(kind === "script" ? new FunctionFault("thrown", message) : overLimit(message));
  }

  #noteSlow(name: string): void {
    this.#slow.set(name, slowRuns);
  }

  #lost(runner: Runner, job: Queued, error: unknown): void {
    if (!(error instanceof ChildLost) || this.#isClosed) {
      job.reject(error instanceof ChildLost ? unavailable("the server is shutting down") : error);
      return;
    }
    if (job.isLate) job.reject(overLimit("took too much processor time"));
    else if (error.why === "memory" && runner.running.size === 1) job.reject(overLimit("took too much memory"));
    else if (job.losses + 1 >= lossesMax) job.reject(unavailable("the runner of the function was lost twice"));
    else job.reject(new RunLost());
  }

  async #answer(running: ReadonlyMap<number, Queued>, question: RunnerQuestion): Promise<unknown> {
    if (question.kind === "ops") {
      const job = running.get(question.run);
      if (job === undefined) throw new Error("a runner asks for a run that is not its own");
      return await job.answer(question.ops);
    }
    for (const job of running.values()) if (job.bundle === question.bundle) return job.code();
    throw new Error("a runner asks for a bundle that is not its own");
  }
}
