import { LruMap } from "../../port/lru-map.ts";
import type { Outcome } from "./run.ts";

/** One run of a function, for people who look for what went wrong. */
export interface RecentRun {
  readonly timeMs: number;
  readonly function: string;
  readonly kind: "query" | "mutation";
  readonly ms: number;
  /** What it threw; undefined where it gave a value. */
  readonly error: string | undefined;
  readonly logs: readonly string[];
}

const runsMax = 100;
const namespacesMax = 1_000;

/** The last runs of each namespace, in memory. */
export class RecentRuns {
  readonly #runs = new LruMap<number, RecentRun[]>(namespacesMax);

  add(namespace: number, run: Omit<RecentRun, "error">, outcome: Outcome): void {
    let runs = this.#runs.get(namespace);
    if (runs === undefined) {
      runs = [];
      this.#runs.set(namespace, runs);
    }
    runs.push({ ...run, error: outcome.kind === "error" ? outcome.fault.message : undefined });
    // Now and then, since shifting an array costs more than the rest.
    if (runs.length > 2 * runsMax) runs.splice(0, runs.length - runsMax);
  }

  /** The newest first. */
  of(namespace: number): RecentRun[] {
    return (this.#runs.get(namespace) ?? []).slice(-runsMax).reverse();
  }
}
