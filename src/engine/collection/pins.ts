import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import type { Snapshot } from "../../port/store.ts";
import type { ConsistencyToken } from "../token.ts";

export const pinLimits = {
  /** Scrolls and filtered writes that may be continued; the least recently used is given up for a new one. */
  pinsMax: 64,
  /** Since its last page. */
  idleMsMax: 120_000,
  /** Matching ids that all pins hold together. */
  idsMax: 4_000_000,
} as const;

/** What a client pages over: the same documents for every page, whatever is written meanwhile. */
export interface Pinned {
  /** The documents as they were; undefined where only the matches matter. */
  readonly snapshot: Snapshot | undefined;
  /** The matches by id; undefined for all documents of the snapshot. */
  readonly matches: { readonly ids: Float64Array; readonly versions: Float64Array } | undefined;
  /** What it reflects. */
  readonly token: ConsistencyToken;
}

interface Held {
  readonly collectionId: number;
  readonly pinned: Pinned;
  readonly ids: number;
  users: number;
  usedMs: number;
}

/** The snapshots that cursors continue on, bounded in number, size and time. No `LruMap`: one that is in use stays, however old. */
export class Pins {
  readonly #clock: Clock;
  /** By last use, the oldest first. */
  readonly #held = new Map<number, Held>();
  #ids = 0;
  #next: number;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    // A cursor of an earlier process must not find a pin of this one.
    this.#next = Math.floor(random.next() * 2 ** 48);
  }

  get size(): number {
    return this.#held.size;
  }

  /** Keeps what a next page needs; undefined when it is too large to be kept. The pin owns the snapshot. */
  add(collectionId: number, pinned: Pinned): number | undefined {
    const ids = pinned.matches?.ids.length ?? 0;
    if (ids > pinLimits.idsMax) return undefined;
    for (const [pin, held] of this.#held) {
      if (this.#held.size < pinLimits.pinsMax && this.#ids + ids <= pinLimits.idsMax) break;
      if (held.users === 0) this.#release(pin, held);
    }
    const pin = this.#next++;
    this.#held.set(pin, { collectionId, pinned, ids, users: 0, usedMs: this.#clock.nowMs() });
    this.#ids += ids;
    return pin;
  }

  /** Runs over what is pinned; undefined when it is gone. */
  async use<T>(pin: number, collectionId: number, run: (pinned: Pinned) => Promise<T>): Promise<T | undefined> {
    this.sweep();
    const held = this.#held.get(pin);
    if (held?.collectionId !== collectionId) return undefined;
    this.#held.delete(pin);
    this.#held.set(pin, held);
    held.users++;
    try {
      return await run(held.pinned);
    } finally {
      held.users--;
      held.usedMs = this.#clock.nowMs();
    }
  }

  /** Gives one up before its time, when the last page was read. */
  release(pin: number): void {
    const held = this.#held.get(pin);
    if (held !== undefined && held.users === 0) this.#release(pin, held);
  }

  /** Gives up what was not used for too long. */
  sweep(): void {
    const before = this.#clock.nowMs() - pinLimits.idleMsMax;
    for (const [pin, held] of this.#held) if (held.users === 0 && held.usedMs < before) this.#release(pin, held);
  }

  dropCollection(collectionId: number): void {
    for (const [pin, held] of this.#held) {
      if (held.collectionId === collectionId && held.users === 0) this.#release(pin, held);
    }
  }

  /** Gives up everything: the store is about to be closed. */
  close(): void {
    for (const [pin, held] of this.#held) this.#release(pin, held);
  }

  #release(pin: number, held: Held): void {
    assert(this.#held.delete(pin), "a pin is released once");
    this.#ids -= held.ids;
    held.pinned.snapshot?.[Symbol.dispose]();
  }
}
