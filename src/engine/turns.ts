import type { Clock } from "../port/clock.ts";
import { nextTurn } from "../port/next-turn.ts";

/**
 * Requests that are answered at once and come one after another, such as appends: as long as there are any, work that can
 * wait takes less of the processor. Counted for the whole process, in memory that its threads share.
 */
class ShortRequests {
  readonly counter = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  get count(): number {
    return this.counter[0]!;
  }

  came(): void {
    this.counter[0]!++;
  }
}

export const shortRequests = new ShortRequests();

/** Work in small steps: between two of them the caller may do something else. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs steps to their end in this turn: for little work, or a thread that does nothing else. */
export function runSteps<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** How long work may hold the listener's thread before everything else that is ready gets a turn. */
export const turnMs = 0.5;
/** How long work that can wait pauses after a turn, while short requests come. */
export const pauseMs = 5;

/** Runs steps to their end, giving way whenever a turn is used up. */
export function runInTurns<T>(steps: Steps<T>, clock: Clock): Promise<T> {
  return run(steps, clock, nextTurn);
}

/** The same for work that can wait. */
export function runWithPauses<T>(steps: Steps<T>, clock: Clock): Promise<T> {
  const pauses = new Pauses((ms) => clock.sleep(ms));
  return run(steps, clock, () => pauses.giveWay());
}

async function run<T>(steps: Steps<T>, clock: Clock, giveWay: () => Promise<void>): Promise<T> {
  let untilMs = clock.steadyMs() + turnMs;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    if (clock.steadyMs() < untilMs) continue;
    await giveWay();
    untilMs = clock.steadyMs() + turnMs;
  }
}

/**
 * What one piece of long work does between its turns. A thread that goes on at once keeps its core, and whoever a short
 * request needs next, the disk's thread or its client, waits for a core until the system's clock ticks.
 */
export class Pauses {
  readonly #sleep: (ms: number) => Promise<void>;
  #seen = shortRequests.count;

  constructor(sleep: (ms: number) => Promise<void>) {
    this.#sleep = sleep;
  }

  giveWay(): Promise<void> {
    const { count } = shortRequests;
    if (count === this.#seen) return nextTurn();
    this.#seen = count;
    return this.#sleep(pauseMs);
  }
}
