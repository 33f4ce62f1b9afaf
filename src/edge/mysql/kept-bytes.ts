import type { ByteAccount } from "../wire/byte-budget.ts";

/** What a session keeps of one kind: up to a bound of its own, and while all sessions together have room. */
export class KeptBytes {
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
    this.#account.hold(this.#bytes);
  }
}
