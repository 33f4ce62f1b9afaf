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
  /** Commits in memory that the store's file has by now, and only snapshots hold. */
  heldBytesMax: 256 * 1024 * 1024,
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

interface Entry {
  readonly collectionId: number;
  readonly pinned: Pinned;
  readonly ids: number;
  users: number;
  usedMs: number;
}

/** The snapshots that cursors continue on, bounded in number, size and time. No `LruMap`: one that is in use stays, however old. */
export class Pins {
  readonly #clock: Clock;
  readonly #heldBytes: () => number;
  /** By last use, the oldest first. */
  readonly #pins = new Map<number, Entry>();
  #ids = 0;
  #next: number;

  /** `heldBytes` tells what snapshots of the store hold in memory. */
  constructor(clock: Clock, random: Random, heldBytes: () => number = () => 0) {
    this.#clock = clock;
    this.#heldBytes = heldBytes;
    // A cursor of an earlier process must not find a pin of this one.
    this.#next = Math.floor(random.next() * 2 ** 48);
  }

  get size(): number {
    return this.#pins.size;
  }

  /** Keeps what a next page needs; undefined when it is too large to be kept. The pin owns the snapshot. */
  add(collectionId: number, pinned: Pinned): number | undefined {
    const ids = pinned.matches?.ids.length ?? 0;
    if (ids > pinLimits.idsMax) return undefined;
    for (const [pin, entry] of this.#pins) {
      const isRoom = this.#pins.size < pinLimits.pinsMax && this.#ids + ids <= pinLimits.idsMax;
      if (isRoom && this.#heldBytes() <= pinLimits.heldBytesMax) break;
      if (entry.users === 0) this.#release(pin, entry);
    }
    const pin = this.#next++;
    this.#pins.set(pin, { collectionId, pinned, ids, users: 0, usedMs: this.#clock.nowMs() });
    this.#ids += ids;
    return pin;
  }

  /** Runs over what is pinned; undefined when it is gone. */
  async use<T>(pin: number, collectionId: number, run: (pinned: Pinned) => Promise<T>): Promise<T | undefined> {
    this.sweep();
    const entry = this.#pins.get(pin);
    if (entry?.collectionId !== collectionId) return undefined;
    this.#pins.delete(pin);
    this.#pins.set(pin, entry);
    entry.users++;
    try {
      return await run(entry.pinned);
    } finally {
      entry.users--;
      entry.usedMs = this.#clock.nowMs();
    }
  }

  /** Gives one up before its time, when the last page was read. */
  release(pin: number): void {
    const entry = this.#pins.get(pin);
    if (entry !== undefined && entry.users === 0) this.#release(pin, entry);
  }

  /** Gives up what was not used for too long. */
  sweep(): void {
    const before = this.#clock.nowMs() - pinLimits.idleMsMax;
    for (const [pin, entry] of this.#pins) if (entry.users === 0 && entry.usedMs < before) this.#release(pin, entry);
  }

  dropCollection(collectionId: number): void {
    for (const [pin, entry] of this.#pins) {
      if (entry.collectionId === collectionId && entry.users === 0) this.#release(pin, entry);
    }
  }

  /** Gives up everything: the store is about to be closed. */
  close(): void {
    for (const [pin, entry] of this.#pins) this.#release(pin, entry);
  }

  #release(pin: number, entry: Entry): void {
    assert(this.#pins.delete(pin), "a pin is released once");
    this.#ids -= entry.ids;
    entry.pinned.snapshot?.[Symbol.dispose]();
  }
}
