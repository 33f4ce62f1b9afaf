import type { LogDisk, LogFile } from "../../src/adapter/file-log/disk.ts";
import { pageBytes } from "../../src/adapter/file-log/format.ts";
import type { Life } from "./life.ts";
import type { Sabotage } from "./sabotage.ts";
import type { StoreWorld } from "./store.ts";

const delayMsMax = 3_000;

interface UnderWay {
  readonly file: SimulatedFile;
  readonly at: number;
  readonly bytes: Buffer;
}

/** A file as the disk has it; its bytes are replaced when it grows. */
interface SimulatedFile {
  bytes: Buffer;
}

/** The folder of the commit log as the disk has it. */
export type LogFiles = Map<string, SimulatedFile>;

/** One process's commit log folder. A write that fails, or that a crash catches, may have left any of its pages. */
export class SimulatedLogDisk implements LogDisk {
  readonly #files: LogFiles;
  readonly #life: Life;
  readonly #world: StoreWorld;
  readonly #sabotage: Sabotage;
  readonly #underWay = new Set<UnderWay>();

  constructor(files: LogFiles, life: Life, world: StoreWorld, sabotage: Sabotage) {
    this.#files = files;
    this.#life = life;
    this.#world = world;
    this.#sabotage = sabotage;
  }

  list(): string[] {
    return [...this.#files.keys()];
  }

  read(name: string): Buffer {
    return Buffer.from(this.#files.get(name)!.bytes);
  }

  open(name: string): LogFile {
    const file = this.#files.get(name)!;
    return {
      get size() {
        return file.bytes.length;
      },
      write: (at, pieces) => this.#write({ file, at, bytes: Buffer.concat(pieces) }),
      clear: (at) => this.#write({ file, at, bytes: Buffer.alloc(pageBytes) }),
      grow: async (bytes) => {
        await this.#step();
        extend(file, bytes);
      },
      close: async () => {},
    };
  }

  async create(name: string, head: Buffer, bytes: number): Promise<LogFile> {
    await this.#step();
    const file = { bytes: Buffer.from(head) };
    extend(file, bytes);
    this.#files.set(name, file);
    return this.open(name);
  }

  async reuse(from: string, name: string, head: Buffer): Promise<LogFile> {
    await this.open(from).write(0, [head]);
    await this.rename(from, name);
    return this.open(name);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#step();
    this.#files.set(to, this.#files.get(from)!);
    this.#files.delete(from);
  }

  async remove(name: string): Promise<void> {
    await this.#step();
    this.#files.delete(name);
  }

  /** The power fails. */
  crash(): void {
    for (const each of this.#underWay) this.#land(each);
    this.#underWay.clear();
  }

  async #step(): Promise<void> {
    await this.#life.turn();
    if (this.#world.faults.strikes("log_fails")) throw new Error("simulated");
  }

  async #write(write: UnderWay): Promise<void> {
    const { faults, dice, time, trace } = this.#world;
    const pages = write.bytes.length / pageBytes;
    this.#underWay.add(write);
    await this.#life.turn();
    if (faults.strikes("commit_delayed")) {
      await time.clockOf(this.#life).sleep(dice.between(1, delayMsMax));
    }
    this.#underWay.delete(write);
    if (faults.strikes("log_fails")) {
      trace.add(`write of ${pages} pages of the log fails`);
      this.#land(write);
      throw new Error("simulated");
    }
    if (!this.#sabotage.losesWrites?.()) {
      extend(write.file, write.at + write.bytes.length);
      write.bytes.copy(write.file.bytes, write.at);
    }
    trace.add(`write of ${pages} pages of the log`);
    if (dice.chance(0.3)) await this.#life.turn();
  }

  /** All of its pages, none, or some. */
  #land({ file, at, bytes }: UnderWay): void {
    const { faults, dice } = this.#world;
    const isTorn = faults.either("log_torn", "log_kept_or_lost");
    const isKept = dice.chance(0.5);
    for (let page = 0; page < bytes.length; page += pageBytes) {
      if (!(isTorn ? dice.chance(0.5) : isKept)) continue;
      extend(file, at + page + pageBytes);
      bytes.copy(file.bytes, at + page, page, page + pageBytes);
    }
  }
}

function extend(file: SimulatedFile, bytes: number): void {
  if (bytes > file.bytes.length) file.bytes = Buffer.concat([file.bytes, Buffer.alloc(bytes - file.bytes.length)]);
}
