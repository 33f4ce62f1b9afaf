import { type Thread, ThreadError } from "../../port/threads.ts";
import { EngineError, type Reason, reasons } from "../errors.ts";
import type { BuildMessage } from "./build/messages.ts";
import type { IndexMessage } from "./index/messages.ts";

/** A thread of the engine, with its errors as the engine's own. */
export class EngineThread<M> {
  readonly #thread: Thread;

  constructor(thread: Thread) {
    this.#thread = thread;
  }

  post(message: M, transfer: readonly ArrayBuffer[] = []): void {
    this.#thread.post(message, transfer);
  }

  request<T>(message: M, transfer: readonly ArrayBuffer[] = []): Promise<T> {
    return this.#thread.request(message, transfer).catch(throwEngineError) as Promise<T>;
  }

  onLost(callback: () => void): void {
    this.#thread.onLost(callback);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

export type IndexThread = EngineThread<IndexMessage>;
export type BuildThread = EngineThread<BuildMessage>;

function throwEngineError(error: unknown): never {
  if (!(error instanceof ThreadError) || error.reason === undefined || !(error.reason in reasons)) throw error;
  const reason = error.reason as Reason;
  const retry = reason === "unavailable" || reason === "resource_exhausted" ? { retryAfterMs: 1000 } : {};
  throw new EngineError(reason, error.message, { details: error.details, cause: error, ...retry });
}
