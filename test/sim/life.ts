import type { Dice } from "./dice.ts";

interface Waiting {
  readonly life: Life;
  readonly go: () => void;
}

/** Decides in which order the answers of ports arrive. */
export class Scheduler {
  readonly #dice: Dice;
  #waiting: Waiting[] = [];

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  wait(life: Life): Promise<void> {
    return new Promise((go) => {
      if (life.isAlive) this.#waiting.push({ life, go });
    });
  }

  /** Lets one of those that wait go on. */
  release(): void {
    if (this.#waiting.length === 0) return;
    const [chosen] = this.#waiting.splice(this.#dice.below(this.#waiting.length), 1);
    if (chosen!.life.isAlive) chosen!.go();
  }

  /** Forgets those that are dead: they wait for ever. */
  bury(): void {
    this.#waiting = this.#waiting.filter(({ life }) => life.isAlive);
  }
}

/**
 * A process or a thread of one. When it ends nothing of it acts any more: whatever it waits for never comes, and what
 * it asks is refused.
 */
export class Life {
  readonly scheduler: Scheduler;
  readonly #parent: Life | undefined;
  readonly #ended: (() => void)[] = [];
  #alive = true;

  constructor(scheduler: Scheduler, parent?: Life) {
    this.scheduler = scheduler;
    this.#parent = parent;
  }

  get isAlive(): boolean {
    return this.#alive && (this.#parent?.isAlive ?? true);
  }

  /** Resolves when the schedule comes to it; never once the life has ended. */
  turn(): Promise<void> {
    return this.scheduler.wait(this);
  }

  onEnd(callback: () => void): void {
    this.#ended.push(callback);
  }

  end(): void {
    this.#alive = false;
    this.scheduler.bury();
    for (const callback of this.#ended.splice(0)) callback();
  }
}
