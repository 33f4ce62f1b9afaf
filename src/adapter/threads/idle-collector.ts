import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { collectorOf } from "../../port/major-gc.ts";

const MiB = 1024 * 1024;

/** When the garbage of the thread that serves is collected, named once with its unit. */
export const idleLimits = {
  /** How often it is looked at, */
  lookMs: 250,
  /** the share of the time that it works when it has nothing to do, */
  workShareMax: 0.02,
  /** for how many looks in a row it must have had nothing to do (`quietMs` of other threads says why), */
  looksMin: 20,
  /** how long it must have worked since the last time, */
  workMsMin: 500,
  /** and by how much the process must have grown since: each collection takes some 60 ms. */
  grownBytesMin: 32 * MiB,
} as const;

/**
 * Gives back what a burst of work has left in the heap of the thread that serves. The runtime looks for garbage when memory is
 * asked for, so that an idle process keeps what its last bulk load took.
 */
export class IdleCollector {
  readonly #collect: () => void;
  readonly #residentBytes: () => number;
  readonly #workShare: () => number;
  #keptBytes: number;
  #idleLooks = 0;
  #workedMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    collect: () => void = collectorWhenNeeded(),
    residentBytes: () => number = () => process.memoryUsage.rss(),
    workShare: () => number = workShareMeter(),
  ) {
    this.#collect = collect;
    this.#residentBytes = residentBytes;
    this.#workShare = workShare;
    this.#keptBytes = residentBytes();
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), idleLimits.lookMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  look(): void {
    const share = this.#workShare();
    this.#idleLooks = share <= idleLimits.workShareMax ? this.#idleLooks + 1 : 0;
    this.#workedMs += share * idleLimits.lookMs;
    if (this.#idleLooks < idleLimits.looksMin || this.#workedMs < idleLimits.workMsMin) return;
    const bytes = this.#residentBytes();
    if (bytes < this.#keptBytes) this.#keptBytes = bytes;
    if (bytes - this.#keptBytes < idleLimits.grownBytesMin) return;
    this.#collect();
    this.#keptBytes = this.#residentBytes();
    this.#workedMs = 0;
    // What it took counts as work.
    this.#workShare();
  }
}

/** Most processes never need it. */
function collectorWhenNeeded(): () => void {
  let collect: ((thoroughly: boolean) => void) | undefined;
  return () => {
    collect ??= collectorOf();
    collect(true);
  };
}

/** The share of the time since the last call in which the event loop worked. */
function workShareMeter(): () => number {
  let last: EventLoopUtilization = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
