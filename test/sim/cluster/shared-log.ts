import { copyBytes } from "../../../src/port/bytes.ts";
import type { SharedLog, SharedRecord, SharedRecords } from "../../../src/port/shared-log.ts";
import { type Bytes, StoreError } from "../../../src/port/store.ts";
import type { Dice } from "../dice.ts";

/** The life of a process, and how fast its clocks run. */
export interface BrokerLife {
  readonly rate: number;
}

/** The time in which the log lives. What belongs to a life is lost with it. */
export interface BrokerWorld<L extends BrokerLife> {
  readonly dice: Dice;
  readonly nowMs: number;
  after(ms: number, run: () => void, life?: L): void;
  wait(ms: number, life?: L): Promise<void>;
}

/** How bad the way between the nodes and the log is; each a probability. */
export interface Weather {
  readonly lostAppend: number;
  readonly lostAnswer: number;
  readonly lateAppend: number;
  readonly doubleAppend: number;
  readonly slow: number;
}

export const fairWeather: Weather = { lostAppend: 0, lostAnswer: 0, lateAppend: 0, doubleAppend: 0, slow: 0 };

/** What a client waits for an answer. */
const timeoutMs = 1_000;
const recordsMax = 20;
const pollMs = 25;

/** The log itself, which loses nothing that is in it. */
export class SimulatedBroker<L extends BrokerLife> {
  /** All that ever were, for the checker; readers get those from `start` on. */
  readonly records: Bytes[] = [];
  start = 0;
  weather: Weather = fairWeather;
  readonly #world: BrokerWorld<L>;
  readonly #recordBytesMax: number;
  /** Nodes that don't reach it, for reads, for writes, or both. */
  readonly cutReads = new Set<string>();
  readonly cutWrites = new Set<string>();

  constructor(world: BrokerWorld<L>, recordBytesMax = 400) {
    this.#world = world;
    this.#recordBytesMax = recordBytesMax;
  }

  /** The log as a node sees it. */
  linkOf(node: string, life: L): SharedLog {
    return {
      id: "simulated",
      recordBytesMax: this.#recordBytesMax,
      append: (bytes) => this.#append(node, life, copyBytes(bytes)),
      read: (from, waitMs) => this.#read(node, life, from, waitMs),
      bounds: async () => ({ start: this.start, end: this.records.length }),
      trim: async (before) => this.trim(before),
      close: async () => {},
    };
  }

  trim(before: number): void {
    this.start = Math.max(this.start, before);
  }

  #delayMs(): number {
    const { dice } = this.#world;
    return dice.chance(this.weather.slow) ? dice.between(50, 900) : dice.between(1, 8);
  }

  #append(node: string, life: L, bytes: Bytes): Promise<number> {
    const world = this.#world;
    const { dice } = world;
    const { lostAppend, lostAnswer, lateAppend, doubleAppend } = this.weather;
    return new Promise((resolve, reject) => {
      world.after(timeoutMs / life.rate, () => reject(new Error("the log does not answer")), life);
      if (this.cutWrites.has(node) || dice.chance(lostAppend)) return;
      const isLate = dice.chance(lateAppend);
      // No node's freeze holds what is on its way.
      world.after(isLate ? dice.between(1_000, 9_000) : this.#delayMs(), () => {
        const offset = this.records.push(bytes) - 1;
        if (dice.chance(doubleAppend)) world.after(dice.between(0, 6_000), () => this.records.push(bytes));
        if (!dice.chance(lostAnswer)) world.after(this.#delayMs(), () => resolve(offset), life);
      });
    });
  }

  async #read(node: string, life: L, from: number, waitMs: number): Promise<SharedRecords> {
    const world = this.#world;
    const endMs = world.nowMs + waitMs / life.rate;
    await world.wait(this.#delayMs(), life);
    while (!this.cutReads.has(node) && from >= this.records.length && world.nowMs < endMs) {
      await world.wait(pollMs, life);
    }
    if (this.cutReads.has(node)) {
      await world.wait(timeoutMs / life.rate, life);
      throw new Error("the log can't be read");
    }
    if (from < this.start) throw new StoreError("damaged", `the log was trimmed to ${this.start}, beyond ${from}`);
    const end = this.records.length;
    const records: SharedRecord[] = this.records
      .slice(from, from + recordsMax)
      .map((bytes, i) => ({ offset: from + i, bytes }));
    await world.wait(this.#delayMs(), life);
    return { records, next: from + records.length, end };
  }
}
