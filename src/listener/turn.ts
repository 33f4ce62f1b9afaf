import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import type { ListenerLimits } from "./limits.ts";

type TurnLimits = Pick<ListenerLimits, "turnMs" | "turnWaitingMax" | "turnWaitingBytesMax">;

interface Waiting {
  readonly go: () => void;
  readonly bytes: number;
}

/**
 * Keeps the turns of the event loop short under overload. In one turn Node serves every readable connection, but accepts
 * one new connection of each listening socket: with thousands of requests a turn would take a second, and new connections
 * would wait for many turns. So requests beyond a turn's share of time wait, in order, for the next.
 */
export class Turn {
  readonly #limits: TurnLimits;
  /** The first is at `next`; the places before it are empty. */
  #waiting: (Waiting | undefined)[] = [];
  #next = 0;
  #waitingBytes = 0;
  #isTurning = false;
  #startedMs = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Whether a request that comes now has to wait. */
  get isOver(): boolean {
    const { turnMs, turnWaitingMax, turnWaitingBytesMax } = this.#limits;
    const waiting = this.#waiting.length - this.#next;
    // Beyond these bounds the engine's own are better than a longer queue: it refuses.
    if (waiting > 0) return waiting < turnWaitingMax && this.#waitingBytes < turnWaitingBytesMax;
    if (this.#isTurning) return performance.now() - this.#startedMs > turnMs;
    this.#begin();
    return false;
  }

  /** Calls `go` in a later turn. `bytes` is what is held for it meanwhile. */
  wait(go: () => void, bytes: number): void {
    this.#waiting.push({ go, bytes });
    this.#waitingBytes += bytes;
    if (!this.#isTurning) this.#begin();
  }

  #begin(): void {
    this.#isTurning = true;
    this.#startedMs = performance.now();
    setImmediate(this.#turned);
  }

  readonly #turned = () => {
    if (this.#waiting.length === 0) {
      this.#isTurning = false;
      return;
    }
    this.#begin();
    const endMs = this.#startedMs + this.#limits.turnMs;
    while (this.#next < this.#waiting.length) {
      const { go, bytes } = this.#waiting[this.#next]!;
      this.#waiting[this.#next++] = undefined;
      this.#waitingBytes -= bytes;
      go();
      if (performance.now() > endMs) break;
    }
    // In a queue that never runs empty the places before its first are given back once they are most of it.
    if (this.#next * 2 < this.#waiting.length) return;
    assert(this.#waitingBytes >= 0, "bytes leave the line once");
    this.#waiting = this.#waiting.slice(this.#next);
    this.#next = 0;
  };
}
