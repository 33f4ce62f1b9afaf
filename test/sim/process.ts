import type { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import { SeededRandom } from "../../src/adapter/simulated/random.ts";
import { BuildService } from "../../src/engine/collection/build/build-service.ts";
import { IndexService } from "../../src/engine/collection/index/index-service.ts";
import { ObjectSegmentLoader } from "../../src/engine/collection/index/segment-loader.ts";
import { type CollectionSettings, defaultCollectionSettings } from "../../src/engine/collection/settings.ts";
import { Engine } from "../../src/engine/engine.ts";
import { segmentService } from "../../src/engine/event/dedup/segment-work.ts";
import { defaultSqlSettings } from "../../src/engine/sql/settings.ts";
import type { ThreadRole, ThreadService } from "../../src/port/threads.ts";
import { inlineSqlChildren } from "../support/engine.ts";
import type { GroundWorld, OpenGround } from "./ground.ts";
import type { Life } from "./life.ts";
import { SimulatedRunners, scriptedBundler } from "./live-runners.ts";
import { type ObjectsUnderWay, SimulatedObjects } from "./objects.ts";
import { messageOf } from "./outcome.ts";
import type { Sabotage } from "./sabotage.ts";
import { SabotagedStore } from "./sabotaged-store.ts";
import { SimulatedThreads } from "./threads.ts";

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

export interface ProcessOptions {
  readonly life: Life;
  readonly ground: OpenGround;
  readonly world: GroundWorld;
  readonly objects: MemoryObjectStore;
  readonly underWay: ObjectsUnderWay;
  readonly sabotage: Sabotage;
  readonly seed: number;
}

/** An engine with all its ports. */
export class Process {
  readonly life: Life;
  readonly engine: Engine;
  readonly store: SabotagedStore;
  readonly threads: SimulatedThreads;
  readonly runners: SimulatedRunners;
  /** Resolved when clients no longer wait for its answers. */
  readonly givenUp = Promise.withResolvers<void>();
  readonly #options: ProcessOptions;

  constructor(options: ProcessOptions) {
    const { life, ground, world, sabotage, seed } = options;
    this.#options = options;
    this.life = life;
    this.store = new SabotagedStore(ground.store, life, sabotage);
    this.threads = new SimulatedThreads(life, (role, each) => this.#makeService(role, each), sabotage.losesMessage);
    this.runners = new SimulatedRunners(life);
    this.engine = new Engine(
      {
        store: this.store,
        objects: this.#objectsOf(life),
        ownership: ground.ownership,
        clock: world.time.clockOf(life),
        random: new SeededRandom(seed),
        threads: this.threads,
        // Its native threads would keep a time of their own.
        sqlChildren: inlineSqlChildren(),
        functions: { runners: this.runners, bundler: scriptedBundler },
      },
      { dedupWindowMs, sql: defaultSqlSettings, collections: collectionSettings },
      { onBackgroundError: (error) => world.trace.add(`background: ${messageOf(error)}`) },
    );
  }

  async stop(): Promise<void> {
    await this.engine.stop();
    await this.#options.ground.close();
  }

  #objectsOf(life: Life): SimulatedObjects {
    const { objects, world, underWay } = this.#options;
    return new SimulatedObjects(objects, life, world, underWay);
  }

  #makeService(role: ThreadRole, life: Life): ThreadService {
    const objects = this.#objectsOf(life);
    const clock = this.#options.world.time.clockOf(life);
    const loader = new ObjectSegmentLoader(objects);
    switch (role) {
      case "index":
        return new IndexService(loader, clock, new SeededRandom(1));
      case "build":
        return new BuildService(objects, loader, clock);
      case "dedup":
        return segmentService;
    }
  }
}
