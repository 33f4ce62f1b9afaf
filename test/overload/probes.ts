import { readFileSync } from "node:fs";
import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** What a health check waits for before it takes the server for dead; the one bound on time under load. */
export const healthWaitMsMax = 10_000;
const healthEveryMs = 200;

export interface HealthFigures {
  readonly asked: number;
  readonly failed: readonly string[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Asks as a supervisor does: over a new connection each time, and only so long. */
export class HealthWatch {
  readonly #url: string;
  readonly #times: number[] = [];
  readonly #failed: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(url: string) {
    this.#url = url;
    this.#running = this.#run();
  }

  async finish(): Promise<HealthFigures> {
    this.#stop.abort();
    await this.#running;
    const sorted = this.#times.toSorted((a, b) => a - b);
    return {
      asked: this.#times.length + this.#failed.length,
      failed: this.#failed.slice(0, 5),
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
      maxMs: sorted.at(-1) ?? 0,
    };
  }

  async #run(): Promise<void> {
    for (let i = 0; !this.#stop.signal.aborted; i++) {
      const path = i % 2 === 0 ? "/health" : "/ready";
      const startMs = performance.now();
      const said = await once(`${this.#url}${path}`);
      if (said === 200) this.#times.push(performance.now() - startMs);
      else this.#failed.push(`${path}: ${said}`);
      await delay(healthEveryMs);
    }
  }
}

function once(url: string): Promise<number | string> {
  return new Promise((resolve) => {
    const asked = request(url, { agent: false, timeout: healthWaitMsMax }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    asked.once("timeout", () => {
      resolve(`no answer in ${healthWaitMsMax} ms`);
      asked.destroy();
    });
    asked.once("error", (error) => resolve(error.message));
    asked.end();
  });
}

export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

export interface MemorySample {
  readonly atMs: number;
  /** Without the store's file, which is mapped into the process and can be dropped at any time. */
  readonly anonymousBytes: number;
  readonly residentBytes: number;
}

/** Looks at the memory of a process again and again. */
export class ResidentWatch {
  readonly samples: MemorySample[] = [];
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number, everyMs: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.look(), everyMs);
    this.look();
  }

  look(): MemorySample {
    const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
    const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
    const sample = { atMs: performance.now(), anonymousBytes: bytes("RssAnon"), residentBytes: bytes("VmRSS") };
    this.samples.push(sample);
    return sample;
  }

  /** The most that was held between two moments. */
  peak(fromMs = 0, toMs = Infinity): MemorySample {
    const within = this.samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    return within.reduce((most, each) => (each.anonymousBytes > most.anonymousBytes ? each : most));
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
