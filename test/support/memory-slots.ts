import type { SlotFiles, Slots } from "../../src/adapter/journaled/slot-file.ts";
import { slotBytes } from "../../src/adapter/journaled/slots.ts";

/** How the next write of a slot ends: its first so many bytes arrive, and it is told to have failed, or never ends. */
export interface Mishap {
  readonly bytes: number;
  readonly ends: "failed" | "never";
}

/** A file of slots in memory, which survives the store that uses it. */
export class MemorySlotFiles implements SlotFiles {
  bytes: Buffer | undefined;
  mishap: Mishap | undefined;
  written = 0;

  open() {
    if (this.bytes === undefined) return undefined;
    return { slots: this.#slots(this.bytes), bytes: Buffer.from(this.bytes) };
  }

  async create(count: number): Promise<Slots> {
    this.bytes = Buffer.alloc(count * slotBytes);
    return this.#slots(this.bytes);
  }

  remove(): void {
    this.bytes = undefined;
  }

  #slots(file: Buffer): Slots {
    return {
      count: file.length / slotBytes,
      write: async (slot, bytes) => {
        await Promise.resolve();
        const { mishap } = this;
        bytes.copy(file, slot * slotBytes, 0, mishap?.bytes ?? bytes.length);
        if (mishap === undefined) this.written++;
        else if (mishap.ends === "failed") throw new Error("the disk failed");
        else await new Promise(() => undefined);
      },
      close: async () => undefined,
    };
  }
}
