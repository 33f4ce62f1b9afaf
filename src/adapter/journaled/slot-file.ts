import {
  close,
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  openSync,
  readFileSync,
  rmSync,
  write,
  writeSync,
} from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { slotBytes } from "./slots.ts";

/** Where slots are kept. A write is durable once its promise resolves; after one that fails the slot may hold anything. */
export interface Slots {
  readonly count: number;
  /** Bytes of one or more slots, from this one on. */
  write(slot: number, bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

export interface SlotFiles {
  /** What an earlier process left, with its bytes; undefined where there is none. */
  open(): { readonly slots: Slots; readonly bytes: Buffer } | undefined;
  /** New slots without a write in them, in place of any there are. */
  create(count: number): Promise<Slots>;
  remove(): void;
}

const pieceBytes = 1024 * 1024;

/** When slots are written on the thread that asks, and when on another. */
export const slotWriteLimits = {
  /** What a write takes on the mean at most, that the thread waits for it. */
  waitMs: 0.5,
  /** Of a mean, that the last write counts for. */
  meanShare: 1 / 32,
  /** Writes that go to another thread after those before took longer. */
  asideWrites: 1_000,
} as const;

/** Slots in a file whose every block is there from the start, so that a write syncs its own pages and nothing else. */
export class FileSlotFiles implements SlotFiles {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  open(): { readonly slots: Slots; readonly bytes: Buffer } | undefined {
    let bytes: Buffer;
    try {
      bytes = readFileSync(this.#path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    const slots = new OpenSlots(this.#path);
    // What a process that was killed has written may be on its way to the disk, and is about to be counted on.
    slots.sync();
    return { slots, bytes };
  }

  async create(count: number): Promise<Slots> {
    const fresh = `${this.#path}.new`;
    const handle = await open(fresh, "w", 0o600);
    try {
      await fill(handle, count * slotBytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(fresh, this.#path);
    const folder = await open(dirname(this.#path), "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return new OpenSlots(this.#path);
  }

  remove(): void {
    for (const path of [this.#path, `${this.#path}.new`]) rmSync(path, { force: true });
  }
}

async function fill(handle: FileHandle, bytes: number): Promise<void> {
  const zeros = Buffer.alloc(Math.min(pieceBytes, bytes));
  for (let at = 0; at < bytes; at += zeros.length) {
    await handle.write(zeros, 0, Math.min(zeros.length, bytes - at), at);
  }
}

/** On the main thread the system ends a process that writes more than it may, unless it listens; then the write fails. */
function onTooLarge(): void {}

/**
 * A page is on a quick disk before another thread has begun to write it, and much before where the processor is busy: that
 * one would wait for a core, and then this one again. So the thread waits for the disk itself as long as that is quick. Who writes more than
 * a page has many clients, whose next requests are read meanwhile.
 */
class OpenSlots implements Slots {
  readonly #descriptor: number;
  readonly count: number;
  #meanMs = 0;
  #asideLeft = 0;

  constructor(path: string) {
    if (!process.listeners("SIGXFSZ").includes(onTooLarge)) process.on("SIGXFSZ", onTooLarge);
    this.#descriptor = openSync(path, constants.O_RDWR | constants.O_DSYNC);
    try {
      this.count = Math.floor(fstatSync(this.#descriptor).size / slotBytes);
    } catch (error) {
      closeSync(this.#descriptor);
      throw error;
    }
  }

  async write(slot: number, bytes: Buffer): Promise<void> {
    if (bytes.length > slotBytes) return this.#writeAside(slot, bytes);
    if (this.#asideLeft > 0) {
      this.#asideLeft--;
      return this.#writeAside(slot, bytes);
    }
    const startedMs = performance.now();
    checkWritten(writeSync(this.#descriptor, bytes, 0, bytes.length, slot * slotBytes), bytes);
    this.#meanMs += (performance.now() - startedMs - this.#meanMs) * slotWriteLimits.meanShare;
    if (this.#meanMs <= slotWriteLimits.waitMs) return;
    this.#meanMs = 0;
    this.#asideLeft = slotWriteLimits.asideWrites;
  }

  sync(): void {
    fdatasyncSync(this.#descriptor);
  }

  #writeAside(slot: number, bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      write(this.#descriptor, bytes, 0, bytes.length, slot * slotBytes, (error, written) => {
        try {
          if (error !== null) throw error;
          checkWritten(written, bytes);
          resolve();
        } catch (failure) {
          reject(failure);
        }
      });
    });
  }

  async close(): Promise<void> {
    await promisify(close)(this.#descriptor);
  }
}

function checkWritten(written: number, { length }: Buffer): void {
  if (written !== length) throw new Error(`only ${written} of ${length} bytes were written`);
}
