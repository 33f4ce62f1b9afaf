import type { Ownership } from "../../port/ownership.ts";

/** A machine of its own: the process that holds the data directory's lock is the owner. */
export class SingleOwnership implements Ownership {
  #owner = false;
  readonly epoch = 1;

  get isOwner(): boolean {
    return this.#owner;
  }

  async acquire(_signal: AbortSignal): Promise<void> {
    this.#owner = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#owner = false;
  }
}
