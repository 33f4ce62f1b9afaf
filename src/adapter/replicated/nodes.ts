import { createHash } from "node:crypto";
import type { Clock } from "../../port/clock.ts";
import type { NodeInfo } from "./entry.ts";

export interface SeenNode extends NodeInfo {
  /** How long ago it was heard of. */
  readonly silentMs: number;
}

/** A node that has been silent for so many of its intervals is taken for gone. */
const intervalsMissed = 3;
/** Those that are remembered at all. */
const nodesMax = 64;

/** The nodes that this one has heard of in the log; the one silent for longest is forgotten, whoever asks for it. */
export class Nodes {
  readonly #clock: Clock;
  readonly #aliveMs: number;
  readonly #seen = new Map<string, { readonly info: NodeInfo; readonly readMs: number }>();

  constructor(clock: Clock, presenceMs: number) {
    this.#clock = clock;
    this.#aliveMs = presenceMs * intervalsMissed;
  }

  /** By hand and not by LruMap: only being heard counts as use, and all are listed. */
  heard(info: NodeInfo): void {
    this.#seen.delete(info.node);
    this.#seen.set(info.node, { info, readMs: this.#clock.steadyMs() });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > nodesMax && oldest !== undefined) this.#seen.delete(oldest);
  }

  all(): SeenNode[] {
    const nowMs = this.#clock.steadyMs();
    return [...this.#seen.values()]
      .map(({ info, readMs }) => ({ ...info, silentMs: nowMs - readMs }))
      .sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  isAlive(node: string): boolean {
    const seen = this.#seen.get(node);
    return seen !== undefined && this.#clock.steadyMs() - seen.readMs < this.#aliveMs;
  }

  /** How many of the others that are alive come before a node when an epoch has to be claimed. All nodes find the same order. */
  rank(node: string, epoch: number, except: readonly string[]): number {
    const own = weight(node, epoch);
    return this.#others(node, except).filter((other) => weight(other, epoch) > own).length;
  }

  /** Whether there is another one that is alive and has room. */
  hasOther(node: string, except: readonly string[]): boolean {
    return this.#others(node, except).some((other) => this.#seen.get(other)!.info.full !== true);
  }

  #others(node: string, except: readonly string[]): string[] {
    return [...this.#seen.keys()].filter((other) => other !== node && !except.includes(other) && this.isAlive(other));
  }
}

function weight(node: string, epoch: number): string {
  return createHash("sha256").update(`${epoch} ${node}`).digest("hex");
}
