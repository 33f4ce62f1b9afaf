import type { Ownership } from "../../port/ownership.ts";
import type { Member } from "./member.ts";

/** One epoch of a node that has become the owner of its cluster. */
export class EpochOwnership implements Ownership {
  readonly epoch: number;
  readonly #member: Member;

  constructor(member: Member) {
    this.#member = member;
    this.epoch = member.epoch;
  }

  get isOwner(): boolean {
    return this.#member.role === "owner" && this.#member.epoch === this.epoch;
  }

  async acquire(): Promise<void> {
    if (!this.isOwner) throw new Error("this node is no longer the owner");
  }

  async confirm(): Promise<void> {
    await this.acquire();
    await this.#member.confirm();
    await this.acquire();
  }

  /** It ends in the log. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
