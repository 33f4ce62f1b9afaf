import type { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import type { ObjectInfo, ObjectStore } from "../../src/port/object-store.ts";
import type { Dice } from "./dice.ts";
import type { Faults } from "./faults.ts";
import type { Life } from "./life.ts";
import type { Trace } from "./trace.ts";

export interface ObjectWorld {
  readonly faults: Faults;
  readonly dice: Dice;
  readonly trace: Trace;
}

interface Put {
  readonly life: Life;
  readonly path: string;
  readonly data: Uint8Array;
}

/** Objects under way of all threads of a process, for the crash to find. */
export class ObjectsUnderWay {
  readonly puts = new Set<Put>();
  readonly #durable: MemoryObjectStore;
  readonly #world: ObjectWorld;

  constructor(durable: MemoryObjectStore, world: ObjectWorld) {
    this.#durable = durable;
    this.#world = world;
  }

  /** What the dead were writing is there whole, in part or not at all. */
  async crash(): Promise<void> {
    const { faults, dice, trace } = this.#world;
    for (const put of this.puts) {
      if (put.life.isAlive) continue;
      this.puts.delete(put);
      if (faults.follows("put_lost_by_crash")) continue;
      const torn = faults.either("put_torn_by_crash", "put_kept_by_crash");
      trace.add(`crash leaves ${put.path} ${torn ? "torn" : "whole"}`);
      await this.#durable.put(put.path, torn ? put.data.subarray(0, dice.below(put.data.length)) : put.data);
    }
  }
}

/** The object store as one thread sees it. */
export class SimulatedObjects implements ObjectStore {
  readonly files = undefined;
  readonly #durable: MemoryObjectStore;
  readonly #life: Life;
  readonly #world: ObjectWorld;
  readonly #underWay: ObjectsUnderWay;

  constructor(durable: MemoryObjectStore, life: Life, world: ObjectWorld, underWay: ObjectsUnderWay) {
    this.#durable = durable;
    this.#life = life;
    this.#world = world;
    this.#underWay = underWay;
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    const { faults } = this.#world;
    const put = { life: this.#life, path, data };
    this.#underWay.puts.add(put);
    // Long enough to be met by a crash.
    for (let turns = this.#world.dice.between(1, 8); turns > 0; turns--) await this.#life.turn();
    this.#underWay.puts.delete(put);
    if (faults.strikes("put_fails")) this.#fail(`put of ${path}`);
    await this.#durable.put(path, data);
    if (faults.strikes("put_fails_but_lands")) this.#fail(`answer to the put of ${path}`);
    this.#world.trace.add(`put ${path} ${data.length}`);
    await this.#life.turn();
  }

  async get(path: string, allocate?: (bytes: number) => Uint8Array): Promise<Uint8Array | undefined> {
    await this.#life.turn();
    if (this.#world.faults.strikes("get_fails")) this.#fail(`get of ${path}`);
    const found = await this.#durable.get(path, allocate);
    this.#world.trace.add(`get ${path} ${found?.length}`);
    return found;
  }

  async *pieces(path: string): AsyncGenerator<Uint8Array> {
    await this.#life.turn();
    if (this.#world.faults.strikes("get_fails")) this.#fail(`get of ${path}`);
    yield* this.#durable.pieces(path);
  }

  async list(prefix: string): Promise<ObjectInfo[]> {
    await this.#life.turn();
    if (this.#world.faults.strikes("list_fails")) this.#fail(`list of ${prefix}`);
    return this.#durable.list(prefix);
  }

  async delete(path: string): Promise<void> {
    const { faults, trace } = this.#world;
    await this.#life.turn();
    if (faults.strikes("delete_fails")) this.#fail(`delete of ${path}`);
    await this.#durable.delete(path);
    trace.add(`delete ${path}`);
    if (faults.strikes("delete_fails_but_lands")) this.#fail(`answer to the delete of ${path}`);
  }

  uri(path: string): string {
    return this.#durable.uri(path);
  }

  datasetPlace(path: string): string | undefined {
    return this.#durable.datasetPlace(path);
  }

  #fail(what: string): never {
    this.#world.trace.add(`${what} fails`);
    throw new Error(`the object store fails: ${what}`);
  }
}
