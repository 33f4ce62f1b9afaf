import { readFileSync } from "node:fs";
import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/**
 * What a health check waits for before it takes the server for dead: the one bound on time under load. Time in which the
 * server, or this process, was ready to run and the machine had no processor for it is not held against the server.
 */
export const healthWaitMsMax = 10_000;
const healthWallMsMax = 120_000;
const healthEveryMs = 200;

export interface HealthFigures {
  readonly asked: number;
  readonly failed: readonly string[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The same without the time in which the machine had no processor for the server or for who asked. */
  readonly servedMaxMs: number;
}

/** Asks as a supervisor does: over a new connection each time, and only so long. */
export class HealthWatch {
  readonly #url: string;
  readonly #pid: number;
  readonly #times: number[] = [];
  readonly #served: number[] = [];
  readonly #failed: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(url: string, pid: number) {
    this.#url = url;
    this.#pid = pid;
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
      servedMaxMs: Math.max(0, ...this.#served),
    };
  }

  async #run(): Promise<void> {
    for (let i = 0; !this.#stop.signal.aborted; i++) {
      const path = i % 2 === 0 ? "/health" : "/ready";
      const startMs = performance.now();
      const queuedMs = queueMs(this.#pid) + queueMs(process.pid);
      const said = await once(`${this.#url}${path}`);
      const tookMs = performance.now() - startMs;
      const servedMs = Math.max(0, tookMs - (queueMs(this.#pid) + queueMs(process.pid) - queuedMs));
      if (said !== 200) this.#failed.push(`${path}: ${said}`);
      else if (servedMs > healthWaitMsMax) this.#failed.push(`${path}: answered after ${Math.round(servedMs)} ms`);
      else {
        this.#times.push(tookMs);
        this.#served.push(servedMs);
      }
      await delay(healthEveryMs);
    }
  }
}

function once(url: string): Promise<number | string> {
  return new Promise((resolve) => {
    const asked = request(url, { agent: false, timeout: healthWallMsMax }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    asked.once("timeout", () => {
      resolve(`no answer in ${healthWallMsMax} ms`);
      asked.destroy();
    });
    asked.once("error", (error) => resolve(error.message));
    asked.end();
  });
}

/** How long the main thread of a process has been ready to run while others ran. */
function queueMs(pid: number): number {
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(waitedNs) / 1e6;
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
