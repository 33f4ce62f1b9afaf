import type { Clock } from "../../port/clock.ts";
import type { EngineThread } from "../collection/engine-thread.ts";
import { EngineError } from "../errors.ts";
import { sqlFault } from "./fault.ts";
import type { SqlMessage } from "./messages.ts";
import type { SqlSettings } from "./settings.ts";

export type SqlThread = EngineThread<SqlMessage>;

export interface WorkDeps {
  readonly thread: SqlThread;
  readonly clock: Clock;
  readonly settings: SqlSettings;
}

/** Without a reason of the caller's, an error with its stack is made for each statement. */
const finished = "finished";

/** One statement's dealings with the thread, within its time. */
export class StatementWork {
  readonly id: number;
  readonly #thread: SqlThread;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  #leftMs: number;
  #timedOut = false;

  constructor({ thread, clock, settings }: WorkDeps, id: number, signal: AbortSignal | undefined) {
    this.id = id;
    this.#thread = thread;
    this.#clock = clock;
    this.#signal = signal;
    this.#leftMs = settings.timeMs;
  }

  /** Counts what the work takes; at the end of the statement's time, and when nobody waits any more, it is stopped. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.steadyMs();
    const over = new AbortController();
    const stop = () => this.#stop("cancelled");
    this.#signal?.addEventListener("abort", stop, { once: true });
    void this.#clock.sleep(Math.max(0, this.#leftMs), over.signal).then(() => {
      if (!over.signal.aborted) this.#stop("timeout");
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

  async request<T>(message: SqlMessage, transfer: readonly ArrayBuffer[] = []): Promise<T> {
    if (this.#timedOut) throw timedOut();
    // Cancelled between two requests, when the thread knew of nothing to stop.
    this.#signal?.throwIfAborted();
    return this.#thread.request<T>(message, transfer);
  }

  close(): void {
    this.#thread.post({ kind: "close", statement: this.id });
  }

  #stop(why: "cancelled" | "timeout"): void {
    if (why === "timeout") this.#timedOut = true;
    this.#thread.post({ kind: "cancel", statement: this.id, why });
  }

  #reason(error: unknown): unknown {
    if (this.#signal?.aborted && !(error instanceof EngineError && error.reason === "internal")) {
      return this.#signal.reason instanceof EngineError
        ? this.#signal.reason
        : sqlFault("cancelled", "the statement was cancelled", { cause: error });
    }
    return error;
  }
}

function timedOut(): EngineError {
  return sqlFault("timeout", "the statement took longer than SERVICE_SQL_TIME allows");
}
