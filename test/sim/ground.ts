import { FileCommitLog } from "../../src/adapter/file-log/commit-log.ts";
import { pageBytes } from "../../src/adapter/file-log/format.ts";
import { type LoggedSettings, LoggedStore } from "../../src/adapter/logged/store.ts";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { makeKey, tables } from "../../src/engine/keys.ts";
import type { Ownership } from "../../src/port/ownership.ts";
import type { Bytes, Reader, Store } from "../../src/port/store.ts";
import type { WorldTime } from "./clock.ts";
import { Life, type Scheduler } from "./life.ts";
import { type LogFiles, SimulatedLogDisk } from "./log-disk.ts";
import { messageOf } from "./outcome.ts";
import type { Sabotage } from "./sabotage.ts";
import { SimulatedStore, type StoreWorld } from "./store.ts";

export interface GroundWorld extends StoreWorld {
  readonly time: WorldTime;
  readonly scheduler: Scheduler;
}

/** A store that is open for one process. */
export interface OpenGround {
  readonly store: Store;
  readonly ownership: Ownership;
  close(): Promise<void>;
}

/** What outlives processes: the machine or machines, and their disks. */
export interface Ground {
  /** Resolves with the life of a process that is to own the data, once there is a machine for it. */
  begin(): Promise<Life>;
  open(life: Life): Promise<OpenGround>;
  /** Whether a process may answer for all that was acknowledged. */
  mayAnswer(life: Life): boolean;
  /** Whether another process has its place, or is to have it. */
  hasSuccessor(life: Life): boolean;
  /** Whether it knows that. */
  isOver(life: Life): boolean;
  /** The life of a process that is to read what another one writes, where there is a machine for it. */
  beginFollowing(): Life | undefined;
  isFollowing(life: Life): boolean;
  /** Tells it of each commit in the turn in which its store has it. */
  feed(life: Life, onIngested: (entry: Bytes) => void): void;
  /** The process ends at once. */
  kill(life: Life): void;
  /** Something befalls the process, or others. */
  strike(life: Life): Promise<void>;
  /** A process has ended, and with it what it had not made durable. */
  crash(life: Life): Promise<void>;
  /** Whatever is broken works again. */
  heal(): void;
  /** What is on the disk. */
  readonly durable: Reader;
  /** How much time may pass at once while something is waited for. */
  readonly hurryMsMax: number;
}

export const mark = makeKey(tables.commitLog);

/** From a view that follows at once to one that is far behind. */
export function loggedSettings(seed: number): LoggedSettings {
  return {
    applyBytes: [1, 2_000, 20_000][seed % 3]!,
    applyDelayMs: [0, 200, 2_000][seed % 5] ?? 1_000,
    stepBytesMax: [500, 4_000, 40_000][seed % 7] ?? 10_000,
    stepKeysMax: 3 + (seed % 50),
    overlayBytesMax: [8_000, 40_000, 1_000_000][seed % 4] ?? 100_000,
    pieceBytes: [1_000, 8_000][seed % 2]!,
    retryMs: 300,
  };
}

/** One machine with its own commit log, as the real process has it (`main-store.ts`). */
export class OneMachine implements Ground {
  readonly durable = new MemoryStore();
  readonly hurryMsMax = 1_000;
  readonly #seed: number;
  readonly #world: GroundWorld;
  readonly #sabotage: Sabotage;
  readonly #logFiles: LogFiles = new Map();
  #view: SimulatedStore | undefined;
  #disk: SimulatedLogDisk | undefined;
  #lives = 0;

  constructor(seed: number, world: GroundWorld, sabotage: Sabotage) {
    this.#seed = seed;
    this.#world = world;
    this.#sabotage = sabotage;
  }

  async begin(): Promise<Life> {
    return new Life(this.#world.scheduler);
  }

  async open(life: Life): Promise<OpenGround> {
    const world = this.#world;
    const clock = world.time.clockOf(life);
    const view = new SimulatedStore(this.durable, life, world);
    const disk = new SimulatedLogDisk(this.#logFiles, life, world, this.#sabotage);
    this.#view = view;
    this.#disk = disk;
    const log = await FileCommitLog.open(disk, {
      // Segments of a few pages.
      segmentBytes: (4 + (this.#seed % 13)) * pageBytes,
      firstBytes: 2 * pageBytes,
      growBytes: 3 * pageBytes,
      mayCreate: view.get(mark) === undefined,
      pause: (ms) => clock.sleep(ms),
    });
    const onError = (error: unknown) => world.trace.add(`not applied: ${messageOf(error)}`);
    const store = await LoggedStore.open({ view, log, clock, mark, settings: loggedSettings(this.#seed), onError });
    const ownership: Ownership = {
      isOwner: true,
      epoch: ++this.#lives,
      acquire: async () => {},
      confirm: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
    return { store, ownership, close: () => store.close() };
  }

  mayAnswer(): boolean {
    return true;
  }

  hasSuccessor(): boolean {
    return false;
  }

  isOver(): boolean {
    return false;
  }

  beginFollowing(): undefined {}

  isFollowing(): boolean {
    return false;
  }

  feed(): void {}

  kill(life: Life): void {
    life.end();
  }

  async strike(life: Life): Promise<void> {
    this.kill(life);
  }

  async crash(): Promise<void> {
    await this.#view?.crash();
    this.#disk?.crash();
  }

  heal(): void {}
}
