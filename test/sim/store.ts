import type { MemoryStore } from "../../src/adapter/memory/store.ts";
import { type Bytes, type Range, type Store, StoreError, type WriteOp } from "../../src/port/store.ts";
import type { WorldTime } from "./clock.ts";
import type { Dice } from "./dice.ts";
import type { Faults } from "./faults.ts";
import type { Life } from "./life.ts";
import type { Trace } from "./trace.ts";

export interface StoreWorld {
  readonly faults: Faults;
  readonly dice: Dice;
  readonly time: WorldTime;
  readonly trace: Trace;
}

const delayMsMax = 3_000;

/**
 * One process's LMDB. A commit is first under way, when it can fail or be caught by a crash; then
 * applied, when readers see it; and only then is it answered.
 */
export class SimulatedStore implements Store {
  readonly #durable: MemoryStore;
  readonly #life: Life;
  readonly #world: StoreWorld;
  readonly #unsynced = new Set<readonly WriteOp[]>();

  constructor(durable: MemoryStore, life: Life, world: StoreWorld) {
    this.#durable = durable;
    this.#life = life;
    this.#world = world;
  }

  async commit(ops: readonly WriteOp[]): Promise<void> {
    const { faults, dice, time, trace } = this.#world;
    this.#unsynced.add(ops);
    await this.#life.turn();
    if (faults.strikes("commit_delayed")) {
      await time.clockOf(this.#life).sleep(dice.between(1, delayMsMax));
    }
    if (faults.strikes("commit_fails")) {
      this.#unsynced.delete(ops);
      trace.add(`commit of ${ops.length} fails`);
      throw new StoreError(dice.chance(0.5) ? "full" : "failed", "simulated");
    }
    await this.#durable.commit(ops);
    this.#unsynced.delete(ops);
    trace.add(`commit of ${ops.length}`);
    if (dice.chance(0.3)) await this.#life.turn();
  }

  async checkpoint(): Promise<void> {}

  /** The power fails: what was under way is there or not, as a whole. */
  async crash(): Promise<void> {
    const { faults, trace } = this.#world;
    for (const ops of this.#unsynced) {
      if (faults.either("commit_lost_by_crash", "commit_kept_by_crash")) {
        trace.add(`crash loses a commit of ${ops.length}`);
        continue;
      }
      trace.add(`crash keeps a commit of ${ops.length}`);
      await this.#durable.commit(ops);
    }
    this.#unsynced.clear();
  }

  get(key: Bytes) {
    return this.#reader().get(key);
  }

  peek(key: Uint8Array) {
    return this.#reader().peek(key);
  }

  head(key: Bytes, bytesMax: number) {
    return this.#reader().head(key, bytesMax);
  }

  range(range: Range) {
    return this.#reader().range(range);
  }

  borrow(range: Range) {
    return this.#reader().borrow(range);
  }

  keys(range: Range) {
    return this.#reader().keys(range);
  }

  snapshot() {
    return this.#reader().snapshot();
  }

  stats() {
    return this.#reader().stats();
  }

  async close(): Promise<void> {}

  #reader(): MemoryStore {
    if (!this.#life.isAlive) throw new StoreError("failed", "the process has ended");
    return this.#durable;
  }
}
