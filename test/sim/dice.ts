import { SeededRandom } from "../../src/adapter/simulated/random.ts";

/** Choices that the seed makes. */
export class Dice {
  readonly #random: SeededRandom;

  constructor(seed: number, stream = 0) {
    // Neighbouring seeds must not walk the same numbers a step apart.
    const mixed = Math.imul(seed ^ 0x5bd1e995, 0x27d4eb2d) ^ Math.imul(stream + 1, 0x165667b1);
    this.#random = new SeededRandom(mixed);
  }

  next(): number {
    return this.#random.next();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** From 0 up to, but not including, `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}
