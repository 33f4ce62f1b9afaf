/** What all edges together hold of bodies, messages and prepared statements, so that many large ones can't take the process's memory. */
export class ByteBudget {
  readonly #bytesMax: number;
  #held = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get held(): number {
    return this.#held;
  }

  account(): ByteAccount {
    return new ByteAccount(this);
  }

  /** Whether there was room. */
  take(bytes: number): boolean {
    if (bytes > 0 && this.#held + bytes > this.#bytesMax) return false;
    this.#held += bytes;
    return true;
  }
}

/** Less is not counted: the number of connections bounds it well enough. */
const countedBytesMin = 64 * 1024;

/** The share of a request or a session: counted as it arrives, so that a promise of bytes takes nothing from others. */
export class ByteAccount {
  readonly #budget: ByteBudget;
  #taken = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Whether it may hold this many bytes in all, which may be fewer than before. */
  hold(bytes: number): boolean {
    const counted = bytes < countedBytesMin ? 0 : bytes;
    if (!this.#budget.take(counted - this.#taken)) return false;
    this.#taken = counted;
    return true;
  }

  release(): void {
    this.hold(0);
  }
}
