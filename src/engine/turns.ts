import type { Clock } from "../port/clock.ts";

/** Work in small steps: between two of them the caller may do something else. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs steps to their end in this turn: for little work, whose caller goes on with what it made. */
export function runAtOnce<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** How long work may hold the listener's thread before everything else that is ready gets a turn. */
const turnMs = 0.5;

/** Runs steps to their end, giving way whenever a turn is used up. */
export async function runInTurns<T>(steps: Steps<T>, clock: Clock): Promise<T> {
  let untilMs = clock.steadyMs() + turnMs;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    if (clock.steadyMs() < untilMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    untilMs = clock.steadyMs() + turnMs;
  }
}
