import type { SlotFiles, Slots } from "../../src/adapter/journaled/slot-file.ts";
import { slotBytes } from "../../src/adapter/journaled/slots.ts";
import type { Life } from "./life.ts";
import type { Sabotage } from "./sabotage.ts";
import type { StoreWorld } from "./store.ts";

const delayMsMax = 3_000;

/** The file beside the store as the disk has it. */
export interface SlotDisk {
  bytes: Buffer | undefined;
}

interface UnderWay {
  readonly slot: number;
  readonly bytes: Buffer;
}

/** One process's file of slots. A write that fails, or that a crash catches, may have left any of its pages. */
export class SimulatedSlotFiles implements SlotFiles {
  readonly #disk: SlotDisk;
  readonly #life: Life;
  readonly #world: StoreWorld;
  readonly #sabotage: Sabotage;
  readonly #underWay = new Set<UnderWay>();

  constructor(disk: SlotDisk, life: Life, world: StoreWorld, sabotage: Sabotage) {
    this.#disk = disk;
    this.#life = life;
    this.#world = world;
    this.#sabotage = sabotage;
  }

  open() {
    const { bytes } = this.#disk;
    return bytes === undefined
      ? undefined
      : { slots: this.#slots(bytes.length / slotBytes), bytes: Buffer.from(bytes) };
  }

  async create(count: number): Promise<Slots> {
    await this.#life.turn();
    if (this.#world.faults.strikes("slots_fail")) throw new Error("simulated");
    this.#disk.bytes = Buffer.alloc(count * slotBytes);
    return this.#slots(count);
  }

  remove(): void {
    this.#disk.bytes = undefined;
  }

  /** The power fails. */
  crash(): void {
    for (const each of this.#underWay) this.#land(each);
    this.#underWay.clear();
  }

  #slots(count: number): Slots {
    return { count, write: (slot, bytes) => this.#write({ slot, bytes: Buffer.from(bytes) }), close: async () => {} };
  }

  async #write(write: UnderWay): Promise<void> {
    const { faults, dice, time, trace } = this.#world;
    const pages = write.bytes.length / slotBytes;
    this.#underWay.add(write);
    await this.#life.turn();
    if (faults.strikes("commit_delayed")) {
      await time.clockOf(this.#life).sleep(dice.between(1, delayMsMax));
    }
    this.#underWay.delete(write);
    if (faults.strikes("slots_fail")) {
      trace.add(`write of ${pages} slots fails`);
      this.#land(write);
      throw new Error("simulated");
    }
    if (!this.#sabotage.losesSlots?.()) write.bytes.copy(this.#disk.bytes!, write.slot * slotBytes);
    trace.add(`write of ${pages} slots`);
    if (dice.chance(0.3)) await this.#life.turn();
  }

  /** All of its pages, none, or some. */
  #land({ slot, bytes }: UnderWay): void {
    const { faults, dice } = this.#world;
    const isTorn = faults.either("slots_torn", "slots_kept_or_lost");
    const isKept = dice.chance(0.5);
    for (let at = 0; at < bytes.length; at += slotBytes) {
      if (isTorn ? dice.chance(0.5) : isKept) bytes.copy(this.#disk.bytes!, slot * slotBytes + at, at, at + slotBytes);
    }
  }
}
