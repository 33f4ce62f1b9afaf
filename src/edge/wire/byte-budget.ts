import assert from "node:assert/strict";

/** What all edges together hold of bodies, messages and prepared statements, so that many large ones can't take the process's memory. */
export class ByteBudget {
  readonly #bytesMax: number;
  readonly #whole: ByteBudget | undefined;
  #held = 0;

  /** One that is a part of a whole takes from that too: what is kept for long can't take all the room of what passes. */
  constructor(bytesMax: number, whole?: ByteBudget) {
    this.#bytesMax = bytesMax;
    this.#whole = whole;
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
    if (this.#whole?.take(bytes) === false) return false;
    this.#held += bytes;
    assert(this.#held >= 0, "bytes are given back once");
    return true;
  }
}

/** Less is not counted: the number of connections bounds it well enough. */
const countedBytesMin = 64 * 1024;

/** The share of a request or a session: counted as it arrives, so that a promise of bytes takes nothing from others. */
export class ByteAccount {
  readonly #budget: ByteBudget;
  #share = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Whether it may hold this many bytes in all, which may be fewer than before. */
  hold(bytes: number): boolean {
    const counted = bytes < countedBytesMin ? 0 : bytes;
    if (!this.#budget.take(counted - this.#share)) return false;
    this.#share = counted;
    return true;
  }

  release(): void {
    this.hold(0);
  }
}

/** What an object of a token takes, with its text. */
const tokenBytes = 100;

/** What a statement takes that is kept with its tokens, which are far more than its text. */
export function statementBytes(text: string, tokens: number): number {
  return 2 * text.length + tokenBytes * tokens;
}

/** What a session keeps of one kind: up to a bound of its own, and while all sessions together have room. */
export class SessionBytes {
  readonly #account: ByteAccount;
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(account: ByteAccount, bytesMax: number) {
    this.#account = account;
    this.#bytesMax = bytesMax;
  }

  /** Whether there is room for so many more, which then are kept. */
  grow(bytes: number): boolean {
    const grown = this.#bytes + bytes;
    if (grown > this.#bytesMax || !this.#account.hold(grown)) return false;
    this.#bytes = grown;
    return true;
  }

  shrink(bytes: number): void {
    this.#bytes -= bytes;
    assert(this.#bytes >= 0, "a session gives back what it took");
    this.#account.hold(this.#bytes);
  }
}
