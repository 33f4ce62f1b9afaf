import { Session } from "node:inspector";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface ScriptCoverage {
  readonly scriptId: string;
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

/**
 * Which blocks of the sources have run, from V8's own counters. Reading them costs milliseconds, so that it is done for
 * many inputs at once, and again for each of them only where they brought something new.
 */
export class Coverage implements Disposable {
  readonly #session = new Session();
  readonly #sources: readonly string[];
  readonly #seen = new Set<string>();
  /** How long the last reading of the counters took, and all of them together. */
  readMs = 0;
  allReadMs = 0;

  constructor(sources: readonly string[]) {
    this.#sources = sources;
    this.#session.connect();
    this.#post("Profiler.enable");
    this.#post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  get blocks(): number {
    return this.#seen.size;
  }

  /** Blocks that ran since the last call and never before it; with `keep` they are known from then on. */
  fresh(keep: boolean): number {
    let fresh = 0;
    for (const block of this.#ran()) {
      if (this.#seen.has(block)) continue;
      fresh++;
      if (keep) this.#seen.add(block);
    }
    return fresh;
  }

  /** Forgets what ran since the last call. */
  reset(): void {
    this.#post("Profiler.takePreciseCoverage");
  }

  /** The blocks that ran since the last call. */
  ran(): Set<string> {
    return new Set(this.#ran());
  }

  [Symbol.dispose](): void {
    this.#post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }

  *#ran(): Iterable<string> {
    const startMs = performance.now();
    const { result } = this.#post("Profiler.takePreciseCoverage") as { result: readonly ScriptCoverage[] };
    this.readMs = performance.now() - startMs;
    this.allReadMs += this.readMs;
    for (const { url, functions } of result) {
      if (!this.#sources.some((part) => url.includes(part))) continue;
      for (const { ranges } of functions) {
        for (const { startOffset, endOffset, count } of ranges) {
          if (count > 0) yield `${url}:${startOffset}-${endOffset}`;
        }
      }
    }
  }

  /** V8 answers on the spot. */
  #post(method: string, params: object = {}): unknown {
    let answer: unknown;
    this.#session.post(method, params, (error, result) => {
      if (error !== null) throw new Error(error.message);
      answer = result;
    });
    return answer;
  }
}
