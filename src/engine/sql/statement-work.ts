import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import { EngineError } from "../errors.ts";
import { sqlFault } from "./fault.ts";
import type { SqlMessage } from "./messages.ts";
import type { SqlSettings } from "./settings.ts";
import { type SqlProcess, type SqlProcesses, StatementLost } from "./sql-processes.ts";

export interface WorkDeps {
  readonly clock: Clock;
  readonly settings: SqlSettings;
}

/** Without a reason of the caller's, an error with its stack is made for each statement. */
const finished = "finished";

/** How often a statement is begun when others end its process. */
const attemptsMax = 3;

/** One statement's dealings with its process, within its time. */
export class StatementWork {
  readonly id: number;
  readonly #clock: Clock;
  readonly #settings: SqlSettings;
  readonly #signal: AbortSignal | undefined;
  #process: SqlProcess | undefined;
  #leftMs: number;
  #timedOut = false;

  constructor({ clock, settings }: WorkDeps, id: number, signal: AbortSignal | undefined) {
    this.id = id;
    this.#clock = clock;
    this.#settings = settings;
    this.#signal = signal;
    this.#leftMs = settings.timeMs;
  }

  /** The process that works on it. */
  get process(): SqlProcess {
    return this.#process!;
  }

  /** Begins the statement in a process of its namespace; again in another one when that is lost by no fault of its own. */
  async begin<T>(processes: SqlProcesses, namespace: number, step: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#moveTo(processes.of(namespace));
        return await this.#run(step);
      } catch (error) {
        if (!(error instanceof StatementLost)) throw error;
        if (error.verdict === "suspect") return this.#beginAlone(processes, step);
        if (error.verdict === "guilty" || error.why === "closed" || attempt === attemptsMax) throw error.fault;
      }
    }
  }

  /** Goes on with a statement that has given rows already: it can't be begun again. */
  async goOn<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await this.#run(step);
    } catch (error) {
      throw error instanceof StatementLost ? error.fault : error;
    }
  }

  /** Gives its place in the process back. */
  end(): void {
    if (this.#process === undefined) return;
    this.#process.slot.open--;
    assert(this.#process.slot.open >= 0, "a statement leaves its process once");
    this.#process = undefined;
  }

  async request<T>(message: SqlMessage): Promise<T> {
    if (this.#timedOut) throw timedOut();
    // Cancelled between two requests, when the process knew of nothing to stop.
    this.#signal?.throwIfAborted();
    return this.process.request<T>(this, message);
  }

  close(): void {
    this.#process?.post({ kind: "close", statement: this.id });
  }

  async #beginAlone<T>(processes: SqlProcesses, step: () => Promise<T>): Promise<T> {
    return processes.alone((process) =>
      this.goOn(async () => {
        await this.#moveTo(process);
        return step();
      }),
    );
  }

  /** With all of its time: what it did in a process before is lost by no fault of its own. */
  async #moveTo(process: SqlProcess): Promise<void> {
    this.end();
    this.#leftMs = this.#settings.timeMs;
    this.#timedOut = false;
    this.#process = process;
    process.slot.open++;
    await process.started();
  }

  /** Counts what the work takes; at the end of the statement's time, and when nobody waits any more, it is stopped. */
  async #run<T>(work: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.steadyMs();
    const over = new AbortController();
    const stop = () => void this.#stop("cancelled", over.signal);
    this.#signal?.addEventListener("abort", stop, { once: true });
    void this.#clock.sleep(Math.max(0, this.#leftMs), over.signal).then(() => {
      if (!over.signal.aborted) void this.#stop("timeout", over.signal);
    });
    try {
      this.#signal?.throwIfAborted();
      return await work();
    } catch (error) {
      throw this.#reason(error);
    } finally {
      over.abort(finished);
      this.#signal?.removeEventListener("abort", stop);
      this.#leftMs -= this.#clock.steadyMs() - startedMs;
    }
  }

  /** What does not stop by itself, as a parse or a plan, is stopped with its process. */
  async #stop(why: "cancelled" | "timeout", over: AbortSignal): Promise<void> {
    const { process } = this;
    if (why === "timeout") this.#timedOut = true;
    process.post({ kind: "cancel", statement: this.id, why });
    await this.#clock.sleep(this.#settings.graceMs, over);
    if (!over.aborted) process.killFor(this);
  }

  #reason(error: unknown): unknown {
    const isOwnLoss = error instanceof StatementLost && error.verdict === "guilty";
    if (this.#signal?.aborted && !(error instanceof EngineError && error.reason === "internal")) {
      return this.#signal.reason instanceof EngineError
        ? this.#signal.reason
        : sqlFault("cancelled", "the statement was cancelled", { cause: error });
    }
    return isOwnLoss && this.#timedOut ? timedOut() : error;
  }
}

function timedOut(): EngineError {
  return sqlFault("timeout", "the statement took longer than SERVICE_SQL_TIME allows");
}
