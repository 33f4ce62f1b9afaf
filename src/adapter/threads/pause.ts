import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";
import { performance } from "node:perf_hooks";

/** How long a thread works before it pauses, and for how long: the second where the listener has short requests to answer. */
export const pauseLimits = { workMs: 0.5, pauseMs: 0.02, longPauseMs: 1 } as const;

export interface PauseOptions {
  /** How many of those requests came, counted by the listener. */
  readonly shortRequests?: Int32Array | undefined;
  readonly sleep?: (ms: number) => void;
}

/**
 * Lets others have the core now and then. A thread that never waits keeps a core until the system's clock ticks, 4 ms or
 * more, while one that serves and has just been woken stands by, whatever their priorities.
 */
export class CorePause {
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  readonly #shortRequests: Int32Array | undefined;
  readonly #sleep: (ms: number) => void;
  #sinceMs = performance.now();
  #seen = 0;

  constructor({ shortRequests, sleep }: PauseOptions = {}) {
    this.#shortRequests = shortRequests;
    this.#sleep = sleep ?? ((ms) => Atomics.wait(this.#never, 0, 0, ms));
  }

  /** To be called between two short steps of long work. */
  readonly ifDue = (): void => {
    if (performance.now() - this.#sinceMs < pauseLimits.workMs) return;
    const came = this.#shortRequests === undefined ? 0 : Atomics.load(this.#shortRequests, 0);
    this.#sleep(came === this.#seen ? pauseLimits.pauseMs : pauseLimits.longPauseMs);
    this.#seen = came;
    this.#sinceMs = performance.now();
  };
}

/** Nice values: higher gives way to more. */
const background = 10;

/**
 * Lets the threads that serve run before this one, and before every native thread that it starts from here on, when
 * there are fewer cores than busy threads. Linux only, where a thread has a priority of its own; nothing elsewhere.
 */
export function runInBackground(): void {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), background);
  } catch {
    // A wish, not a need: some systems have no such link, and some allow no change.
  }
}
