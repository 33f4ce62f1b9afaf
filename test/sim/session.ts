import type { ConsistencyToken } from "../../src/engine/token.ts";
import type { Dice } from "./dice.ts";
import { isRetryable, messageOf, type Outcome, Violation } from "./outcome.ts";
import type { World } from "./world.ts";

const triesMax = 50;

/** What the simulated clients share: the world, their choices, and the tokens that they hand to each other. */
export class Session {
  readonly world: World;
  readonly dice: Dice;
  readonly #tokens: ConsistencyToken[] = [];
  #nextId = 1;
  /** Answers by what was asked and how it ended. */
  readonly counts = new Map<string, number>();

  constructor(world: World, dice: Dice) {
    this.world = world;
    this.dice = dice;
  }

  takeId(): number {
    return this.#nextId++;
  }

  share(token: ConsistencyToken): void {
    this.#tokens.push(token);
    if (this.#tokens.length > 20) this.#tokens.shift();
  }

  /** A token that some client got, or none. */
  someToken(): ConsistencyToken {
    return this.#tokens.length > 0 && this.dice.chance(0.4) ? this.dice.pick(this.#tokens) : [];
  }

  /**
   * Asks the engine. An error that tells of a bug ends the run; those that `expected` names are the caller's. With a token that names all that the
   * caller knows of, any node may answer.
   */
  async ask<T>(
    what: string,
    expected: readonly string[],
    call: () => T | Promise<T>,
    token?: ConsistencyToken,
  ): Promise<Outcome<T>> {
    const outcome = await this.world.call(call, token);
    const kind = what.split(" ")[0]!;
    if (outcome.kind === "answer") {
      this.#count(`${kind} ok`);
      this.world.trace.add(`${what}: ${shown(outcome.value)}`);
    } else if (outcome.kind === "crash") {
      this.#count(`${kind} cut off`);
      this.world.trace.add(`${what}: cut off`);
    } else {
      const { reason } = outcome.error as { reason?: string };
      this.#count(`${kind} ${reason}`);
      this.world.trace.add(`${what}: ${messageOf(outcome.error)}`);
      if (!isRetryable(outcome.error) && !expected.includes(reason ?? "")) {
        throw new Violation(`${what} failed with ${messageOf(outcome.error)}`, { cause: outcome.error });
      }
    }
    return outcome;
  }

  /** Asks until it is answered, where nothing stands in the way of an answer. */
  async insist<T>(what: string, call: () => Promise<T>): Promise<T> {
    for (let tries = 1; tries <= triesMax; tries++) {
      const outcome = await this.ask(what, [], call);
      if (outcome.kind === "answer") return outcome.value;
      await this.pause();
    }
    throw new Violation(`${what} is not answered any more`);
  }

  /** Before a call is tried again. */
  async pause(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (!this.world.mayAnswer);
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_key, each) => (typeof each === "function" ? undefined : each));
  return text ?? "";
}
