import type { Clock } from "../../src/port/clock.ts";
import type { Dice } from "./dice.ts";
import type { Faults } from "./faults.ts";
import type { Life } from "./life.ts";

interface Sleeper {
  readonly life: Life;
  readonly dueMs: number;
  readonly wake: () => void;
}

/** A time that can be put in order with others although the clock may be set back. */
export interface Moment {
  readonly setBacks: number;
  readonly wallMs: number;
}

/** The time of the simulated world. The wall clock can jump, the steady one only goes on. */
export class WorldTime {
  readonly #dice: Dice;
  readonly #faults: Faults;
  #wallMs = 1_700_000_000_000;
  #steadyMs = 0;
  #sleepers: Sleeper[] = [];
  /** The latest that the wall clock showed before each time it was set back. */
  readonly #peaksMs: number[] = [];
  /** What it was set back to. */
  readonly #troughsMs: number[] = [];

  constructor(dice: Dice, faults: Faults) {
    this.#dice = dice;
    this.#faults = faults;
  }

  get wallMs(): number {
    return this.#wallMs;
  }

  get steadyMs(): number {
    return this.#steadyMs;
  }

  clockOf(life: Life): Clock {
    return {
      nowMs: () => this.#wallMs,
      steadyMs: () => this.#look(),
      sleep: (ms, signal) => this.#sleep(life, ms, signal),
    };
  }

  /** Lets time pass. Those whose sleep is over wake in the order in which it ended. */
  advance(ms: number): void {
    this.#pass(ms);
    const due = this.#sleepers.filter(({ dueMs }) => dueMs <= this.#steadyMs);
    if (due.length === 0) return;
    for (const { life, wake } of due.sort((a, b) => a.dueMs - b.dueMs)) if (life.isAlive) wake();
  }

  jump(ms: number): void {
    if (ms < 0) this.#peaksMs.push(this.#wallMs);
    this.#wallMs += ms;
    if (ms < 0) this.#troughsMs.push(this.#wallMs);
  }

  get moment(): Moment {
    return { setBacks: this.#peaksMs.length, wallMs: this.#wallMs };
  }

  /** The earliest that the wall clock showed from one moment to another. */
  earliestMs(from: Moment, to: Moment): number {
    return Math.min(from.wallMs, to.wallMs, ...this.#troughsMs.slice(from.setBacks, to.setBacks));
  }

  /** The latest that the wall clock showed from one moment to another. */
  latestMs(from: Moment, to: Moment = this.moment): number {
    return Math.max(to.wallMs, ...this.#peaksMs.slice(from.setBacks, to.setBacks));
  }

  bury(): void {
    this.#sleepers = this.#sleepers.filter(({ life }) => life.isAlive);
  }

  #pass(ms: number): void {
    this.#steadyMs += ms;
    this.jump(ms);
  }

  /** Work takes time: whoever measures may find that a slice is over. */
  #look(): number {
    if (this.#faults.strikes("thread_is_slow")) this.#pass(this.#dice.between(1, 6));
    return this.#steadyMs;
  }

  #sleep(life: Life, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (!life.isAlive) return;
      if (signal?.aborted || ms <= 0) return resolve();
      const wake = () => {
        const at = this.#sleepers.indexOf(sleeper);
        if (at >= 0) this.#sleepers.splice(at, 1);
        signal?.removeEventListener("abort", wake);
        if (life.isAlive) resolve();
      };
      const sleeper = { life, dueMs: this.#steadyMs + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }
}
