import { EngineError } from "../../engine/errors.ts";
import { rpcLimits } from "./limits.ts";

export type HealthStatus = "unknown" | "serving" | "not-serving";

/** The whole process, in the health protocol. */
const wholeProcess = "";

/** What the process and its services can do right now, and who wants to know. */
export class HealthState {
  readonly #services = new Set<string>([wholeProcess]);
  readonly #watchers = new Set<() => void>();
  readonly #drain = new AbortController();
  #ready = false;

  add(service: string): void {
    this.#services.add(service);
    this.#tell();
  }

  /** Ready once requests can be served, and not while they can't. */
  setReady(ready: boolean): void {
    this.#ready = ready;
    this.#tell();
  }

  /** From now on nothing is served: watchers hear of it and their streams end. There is no way back. */
  drain(): void {
    this.#drain.abort();
    this.#tell();
  }

  /** Aborted by the drain, for calls that would otherwise stay open as long as their caller does. */
  get draining(): AbortSignal {
    return this.#drain.signal;
  }

  statusOf(service: string): HealthStatus {
    if (!this.#services.has(service)) return "unknown";
    return this.#ready && !this.draining.aborted ? "serving" : "not-serving";
  }

  /** The status now and after every change, until the signal is aborted or the process drains. */
  async *watch(service: string, signal: AbortSignal): AsyncGenerator<HealthStatus> {
    if (this.#watchers.size >= rpcLimits.healthWatchersMax) {
      throw new EngineError("resource_exhausted", "too many health watchers", { retryAfterMs: 1000 });
    }
    let wake: () => void = () => undefined;
    const notify = () => wake();
    this.#watchers.add(notify);
    signal.addEventListener("abort", notify, { once: true });
    try {
      let sent: HealthStatus | undefined;
      while (!signal.aborted) {
        const changed = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const status = this.statusOf(service);
        if (status !== sent) {
          sent = status;
          yield status;
          // It may have changed while the reader was slow.
          continue;
        }
        if (this.draining.aborted) return;
        await changed;
      }
    } finally {
      this.#watchers.delete(notify);
      signal.removeEventListener("abort", notify);
    }
  }

  #tell(): void {
    for (const notify of [...this.#watchers]) notify();
  }
}
