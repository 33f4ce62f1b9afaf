import type { Dice } from "./dice.ts";

export const faultKinds = [
  "commit_fails",
  "commit_delayed",
  "commit_lost_by_crash",
  "commit_kept_by_crash",
  "log_fails",
  "log_torn",
  "log_kept_or_lost",
  "put_fails",
  "put_fails_but_lands",
  "put_lost_by_crash",
  "put_torn_by_crash",
  "put_kept_by_crash",
  "get_fails",
  "list_fails",
  "delete_fails",
  "delete_fails_but_lands",
  "thread_lost",
  "runner_lost",
  "clock_jumps_ahead",
  "clock_jumps_back",
  "thread_is_slow",
  "crash",
  "crash_at_start",
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** What a seed may make of each kind: most runs have a few kinds, some have many, and some have none of a kind. */
const likelihoods: Readonly<Record<FaultKind, readonly number[]>> = {
  commit_fails: [0, 0.01, 0.05, 0.25],
  commit_delayed: [0, 0.05, 0.3],
  commit_lost_by_crash: [0.5],
  commit_kept_by_crash: [0],
  log_fails: [0, 0.01, 0.05, 0.25],
  log_torn: [0.7],
  log_kept_or_lost: [0],
  put_fails: [0, 0.05, 0.3],
  put_fails_but_lands: [0, 0.05, 0.2],
  put_lost_by_crash: [0.34],
  put_torn_by_crash: [0.5],
  put_kept_by_crash: [0],
  get_fails: [0, 0.02, 0.2],
  list_fails: [0, 0.05, 0.3],
  delete_fails: [0, 0.05, 0.3],
  delete_fails_but_lands: [0, 0.05, 0.2],
  thread_lost: [0, 0.002, 0.01],
  runner_lost: [0, 0.01, 0.05],
  clock_jumps_ahead: [0, 0.002, 0.01],
  clock_jumps_back: [0, 0.002, 0.01],
  thread_is_slow: [0, 0.02, 0.2],
  crash: [0.001, 0.005, 0.015],
  crash_at_start: [0, 0.3],
};

/** Which faults happen, and how often each did. */
export class Faults {
  readonly counts: Record<FaultKind, number>;
  readonly #dice: Dice;
  readonly #likelihoods: Record<FaultKind, number>;
  enabled = false;

  constructor(dice: Dice) {
    this.#dice = dice;
    this.counts = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;
    this.#likelihoods = Object.fromEntries(faultKinds.map((kind) => [kind, dice.pick(likelihoods[kind])])) as Record<
      FaultKind,
      number
    >;
  }

  /** Whether the fault happens here. */
  strikes(kind: FaultKind): boolean {
    if (!this.enabled || !this.#dice.chance(this.#likelihoods[kind])) return false;
    this.counts[kind]++;
    return true;
  }

  /** The same where only the crash that came before is the fault's cause. */
  follows(kind: FaultKind): boolean {
    const happens = this.#dice.chance(this.#likelihoods[kind]);
    if (happens) this.counts[kind]++;
    return happens;
  }

  /** The same where something happens one way or the other. */
  either(kind: FaultKind, otherwise: FaultKind): boolean {
    const first = this.#dice.chance(this.#likelihoods[kind]);
    this.counts[first ? kind : otherwise]++;
    return first;
  }
}
