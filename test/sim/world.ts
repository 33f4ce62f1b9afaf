import { FileCommitLog } from "../../src/adapter/file-log/commit-log.ts";
import { pageBytes } from "../../src/adapter/file-log/format.ts";
import { type LoggedSettings, LoggedStore } from "../../src/adapter/logged/store.ts";
import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { SeededRandom } from "../../src/adapter/simulated/random.ts";
import { BuildService } from "../../src/engine/collection/build/build-service.ts";
import { IndexService } from "../../src/engine/collection/index/index-service.ts";
import { ObjectSegmentLoader } from "../../src/engine/collection/index/segment-loader.ts";
import { type CollectionSettings, defaultCollectionSettings } from "../../src/engine/collection/settings.ts";
import { Engine } from "../../src/engine/engine.ts";
import { EngineError } from "../../src/engine/errors.ts";
import { makeKey, tables } from "../../src/engine/keys.ts";
import { defaultSqlSettings } from "../../src/engine/sql/settings.ts";
import { StoreError } from "../../src/port/store.ts";
import type { ThreadRole, ThreadService } from "../../src/port/threads.ts";
import { inlineSqlChildren } from "../support/engine.ts";
import { WorldTime } from "./clock.ts";
import { Dice } from "./dice.ts";
import { Faults } from "./faults.ts";
import { leftovers } from "./leftovers.ts";
import { Life, Scheduler } from "./life.ts";
import { SimulatedRunners, scriptedBundler } from "./live-runners.ts";
import { type LogFiles, SimulatedLogDisk } from "./log-disk.ts";
import { ObjectsUnderWay, SimulatedObjects } from "./objects.ts";
import type { Sabotage } from "./sabotage.ts";
import { SabotagedStore } from "./sabotaged-store.ts";
import { SimulatedStore } from "./store.ts";
import { SimulatedThreads } from "./threads.ts";
import { Trace } from "./trace.ts";

/** How a call ended: with an answer, with an error, or with the process that was to answer it. */
export type Outcome<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "crash" };

/** A guarantee that did not hold. */
export class Violation extends Error {}

export function demand(holds: boolean, what: () => string): void {
  if (!holds) throw new Violation(what());
}

export const dedupWindowMs = 60_000;

/** Small, so that a run of a few hundred steps seals, merges and throttles. */
const collectionSettings: CollectionSettings = {
  ...defaultCollectionSettings,
  tailRecordsMax: 60,
  sealRecords: 20,
  sealIdleMs: 700,
  sealAgeMs: 5_000,
  manifestKeepMs: 20_000,
  openIdleMs: 15_000,
};

/** From a view that follows at once to one that is far behind, and segments of a few pages. */
function logSettings(seed: number): { readonly segmentBytes: number; readonly logged: LoggedSettings } {
  return {
    segmentBytes: (4 + (seed % 13)) * pageBytes,
    logged: {
      applyBytes: [1, 2_000, 20_000][seed % 3]!,
      applyDelayMs: [0, 200, 2_000][seed % 5] ?? 1_000,
      stepBytesMax: [500, 4_000, 40_000][seed % 7] ?? 10_000,
      stepKeysMax: 3 + (seed % 50),
      overlayBytesMax: [8_000, 40_000, 1_000_000][seed % 4] ?? 100_000,
      pieceBytes: [1_000, 8_000][seed % 2]!,
      retryMs: 300,
    },
  };
}

/** What is durable, the process that works on it, and everything that can befall them. */
export class World {
  readonly dice: Dice;
  readonly faults: Faults;
  readonly trace: Trace;
  readonly time: WorldTime;
  readonly scheduler: Scheduler;
  readonly #durable = new MemoryStore();
  readonly #objects = new MemoryObjectStore();
  readonly #underWay: ObjectsUnderWay;
  readonly #seed: number;
  readonly #sabotage: Sabotage;
  #life: Life;
  readonly #logFiles: LogFiles = new Map();
  #view: SimulatedStore | undefined;
  #disk: SimulatedLogDisk | undefined;
  #store: LoggedStore | undefined;
  #sabotaged: SabotagedStore | undefined;
  #threads: SimulatedThreads | undefined;
  #runners: SimulatedRunners | undefined;
  #engine: Engine | undefined;
  #lives = 0;
  ticks = 0;
  /** Time passes fast while something is waited for. */
  isHurried = false;

  constructor(seed: number, sabotage: Sabotage, traceLinesMax: number) {
    this.#seed = seed;
    this.#sabotage = sabotage;
    this.dice = new Dice(seed, 1);
    this.faults = new Faults(new Dice(seed, 2));
    this.trace = new Trace(traceLinesMax);
    this.time = new WorldTime(new Dice(seed, 3), this.faults);
    this.scheduler = new Scheduler(new Dice(seed, 4));
    this.#underWay = new ObjectsUnderWay(this.#objects, this);
    this.#life = new Life(this.scheduler);
  }

  get engine(): Engine {
    return this.#engine!;
  }

  get isUp(): boolean {
    return this.#engine !== undefined;
  }

  /** Starts a process over what is durable; tries again when a fault keeps it from starting. */
  async start(): Promise<void> {
    while (this.#engine === undefined) {
      const life = new Life(this.scheduler);
      this.#life = life;
      const started = this.call(async () => {
        const engine = await this.#makeEngine(life);
        await engine.own();
        return engine;
      });
      const outcome = await this.drive(started);
      if (outcome.kind === "error" && isDamage(outcome.error)) {
        throw new Violation(`the store is refused: ${messageOf(outcome.error)}`);
      }
      if (outcome.kind === "answer" && !this.faults.strikes("crash_at_start")) this.#engine = outcome.value;
      else {
        this.trace.add(`start: ${outcome.kind === "error" ? messageOf(outcome.error) : "crash soon after"}`);
        // What an earlier life left half done is taken up, and left half done again.
        for (let ticks = this.dice.below(12); ticks > 0; ticks--) await this.tick();
        await this.crash();
      }
    }
    this.trace.add("started");
  }

  /** The power fails. */
  async crash(): Promise<void> {
    this.#engine = undefined;
    this.#life.end();
    this.time.bury();
    await this.#view?.crash();
    this.#disk?.crash();
    await this.#underWay.crash();
    this.trace.add("crash");
  }

  /** An orderly stop. */
  async stop(): Promise<void> {
    const { engine } = this;
    this.#engine = undefined;
    const stop = async () => {
      await engine.stop();
      await this.#store?.close();
    };
    const outcome = await this.drive(this.call(stop));
    if (outcome.kind === "error") throw new Violation(`the stop failed: ${messageOf(outcome.error)}`);
    this.#life.end();
    this.time.bury();
    this.trace.add("stopped");
  }

  /** What is stored and belongs to nothing any more. */
  leftovers(): Promise<string[]> {
    return leftovers(this.#durable, this.#objects);
  }

  async loseThread(): Promise<void> {
    this.#threads?.lose(this.dice);
    await this.#underWay.crash();
    this.trace.add("thread lost");
  }

  loseRunner(): void {
    this.#runners?.lose(this.dice);
    this.trace.add("runner lost");
  }

  /** Asks the process that is there now. Who is told that the outcome is not known is cut off, once it is decided. */
  call<T>(ask: () => T | Promise<T>): Promise<Outcome<T>> {
    const life = this.#life;
    const failed = async (error: unknown): Promise<Outcome<T>> => {
      if (!isUndecided(error)) return { kind: "error", error };
      await this.#sabotaged?.settled;
      return { kind: "crash" };
    };
    return new Promise((resolve) => {
      life.onEnd(() => resolve({ kind: "crash" }));
      (async () => ask())()
        .then((value): Outcome<T> => ({ kind: "answer", value }), failed)
        .then((outcome) => life.isAlive && resolve(outcome));
    });
  }

  /** Lets the world go on until something is settled. */
  async drive<T>(settled: Promise<T>, eachTick: () => void = () => {}): Promise<T> {
    let done = false;
    const finish = () => {
      done = true;
    };
    settled.then(finish, finish);
    for (let ticks = 0; !done; ticks++) {
      if (ticks > 200_000) throw new Violation("nothing settles any more");
      await this.tick();
      if (!done) eachTick();
    }
    return settled;
  }

  /** One turn of the event loop, a few answers of ports, and a little time. */
  async tick(): Promise<void> {
    this.ticks++;
    const { dice } = this;
    for (let count = dice.below(4); count > 0; count--) this.scheduler.release();
    if (this.isHurried && dice.chance(0.2)) this.time.advance(dice.between(100, 1_000));
    else if (dice.chance(0.3)) this.time.advance(dice.between(1, 5));
    else if (dice.chance(0.05)) this.time.advance(dice.between(50, 600));
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #makeEngine(life: Life): Promise<Engine> {
    const clock = this.time.clockOf(life);
    const objects = new SimulatedObjects(this.#objects, life, this, this.#underWay);
    this.#sabotaged = new SabotagedStore(await this.#openStore(life), life, this.#sabotage);
    const random = new SeededRandom(this.#seed * 1_000 + this.#lives++);
    const create = (role: ThreadRole, threadLife: Life) => this.#makeService(role, threadLife);
    this.#threads = new SimulatedThreads(life, create, this.#sabotage.losesMessage);
    this.#runners = new SimulatedRunners(life);
    return new Engine(
      {
        store: this.#sabotaged,
        objects,
        ownership: {
          isOwner: true,
          epoch: this.#lives,
          acquire: async () => {},
          confirm: async () => {},
          [Symbol.asyncDispose]: async () => {},
        },
        clock,
        random,
        threads: this.#threads,
        // Its native threads would keep a time of their own.
        sqlChildren: inlineSqlChildren(),
        functions: { runners: this.#runners, bundler: scriptedBundler },
      },
      { dedupWindowMs, sql: defaultSqlSettings, collections: collectionSettings },
      { onBackgroundError: (error) => this.trace.add(`background: ${messageOf(error)}`) },
    );
  }

  /** As the real process has it (`main-store.ts`). */
  async #openStore(life: Life): Promise<LoggedStore> {
    const { segmentBytes, logged } = logSettings(this.#seed);
    const clock = this.time.clockOf(life);
    const view = new SimulatedStore(this.#durable, life, this);
    const disk = new SimulatedLogDisk(this.#logFiles, life, this, this.#sabotage);
    this.#view = view;
    this.#disk = disk;
    const mark = makeKey(tables.commitLog);
    const log = await FileCommitLog.open(disk, {
      segmentBytes,
      firstBytes: 2 * pageBytes,
      growBytes: 3 * pageBytes,
      mayCreate: view.get(mark) === undefined,
      pause: (ms) => clock.sleep(ms),
    });
    const onError = (error: unknown) => this.trace.add(`not applied: ${messageOf(error)}`);
    this.#store = await LoggedStore.open({ view, log, clock, mark, settings: logged, onError });
    return this.#store;
  }

  #makeService(role: ThreadRole, life: Life): ThreadService {
    const objects = new SimulatedObjects(this.#objects, life, this, this.#underWay);
    const clock = this.time.clockOf(life);
    const loader = new ObjectSegmentLoader(objects);
    switch (role) {
      case "index":
        return new IndexService(loader, clock, new SeededRandom(1));
      case "build":
        return new BuildService(objects, loader, clock);
    }
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "damaged";
}

export function messageOf(error: unknown): string {
  const { reason, message } = error as EngineError;
  return `${reason ?? (error as Error).name}: ${message}`;
}

function isUndecided(error: unknown): boolean {
  return error instanceof EngineError && /not known yet/.test(error.message);
}

/** Whether an error tells the caller to try again, and that nothing was done. */
export function isRetryable(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    (error.reason === "unavailable" || error.reason === "deadline_exceeded" || error.reason === "resource_exhausted")
  );
}
