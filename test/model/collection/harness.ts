import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FilesObjectStore } from "../../../src/adapter/files/object-store.ts";
import { LmdbStore } from "../../../src/adapter/lmdb/store.ts";
import { MemoryObjectStore } from "../../../src/adapter/memory/object-store.ts";
import { MemoryStore } from "../../../src/adapter/memory/store.ts";
import { NodeRandom } from "../../../src/adapter/node/random.ts";
import { SimulatedClock } from "../../../src/adapter/simulated/clock.ts";
import { SeededRandom } from "../../../src/adapter/simulated/random.ts";
import { SingleOwnership } from "../../../src/adapter/single/ownership.ts";
import { WorkerThreads } from "../../../src/adapter/threads/threads.ts";
import type { WorkerData } from "../../../src/composition/process/worker.ts";
import { BuildService } from "../../../src/engine/collection/build/build-service.ts";
import { IndexService } from "../../../src/engine/collection/index/index-service.ts";
import { ObjectSegmentLoader } from "../../../src/engine/collection/index/segment-loader.ts";
import { type CollectionSettings, defaultCollectionSettings } from "../../../src/engine/collection/settings.ts";
import { Engine } from "../../../src/engine/engine.ts";
import { segmentService } from "../../../src/engine/event/dedup/segment-work.ts";
import { defaultSqlSettings } from "../../../src/engine/sql/settings.ts";
import type { ObjectStore } from "../../../src/port/object-store.ts";
import type { Store } from "../../../src/port/store.ts";
import type { ThreadRole, ThreadService, Threads } from "../../../src/port/threads.ts";
import { inlineSqlChildren } from "../../support/engine.ts";
import { LosableThreads } from "../../support/losable-threads.ts";

export type Adapters = "memory" | "disk";

/** An engine that can be stopped and started over the same data, with time in the test's hand. */
export class EngineHarness implements AsyncDisposable {
  readonly clock = new SimulatedClock();
  readonly objects: ObjectStore;
  /** What failed in the background; empty unless a test broke something on purpose. */
  readonly errors: unknown[] = [];
  /** Searches that each index thread was asked for, in memory only. */
  readonly searches: number[] = [];
  /** The collections that each of them has been told to hold; in memory only. */
  readonly held: Set<number>[] = [];
  engine!: Engine;
  store: Store;
  #losable: LosableThreads | undefined;
  readonly #folder: string;
  readonly #adapters: Adapters;
  readonly #settings: CollectionSettings;

  private constructor(adapters: Adapters, settings: Partial<CollectionSettings>) {
    this.#folder = mkdtempSync(join(tmpdir(), "native-engine-test-"));
    this.#adapters = adapters;
    this.#settings = { ...defaultCollectionSettings, ...settings };
    this.objects =
      adapters === "memory" ? new MemoryObjectStore() : new FilesObjectStore(join(this.#folder, "objects"));
    this.store = adapters === "memory" ? new MemoryStore() : this.#openDisk();
  }

  static async start(adapters: Adapters, settings: Partial<CollectionSettings> = {}): Promise<EngineHarness> {
    const harness = new EngineHarness(adapters, settings);
    await harness.#startEngine();
    await harness.engine.metastore.createNamespace("n");
    return harness;
  }

  async restart(): Promise<void> {
    await this.engine.stop();
    if (this.#adapters === "disk") {
      await this.store.close();
      this.store = this.#openDisk();
    }
    await this.#startEngine();
  }

  /** Lets background work go on, with time passing, until a condition holds. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadlineMs = performance.now() + 120_000;
    for (let turn = 1; !holds(); turn++) {
      if (performance.now() > deadlineMs) throw new Error(`${what}: not reached; ${this.errors.join("; ")}`);
      // A real disk and real threads take real time: they must not seem to hang.
      if (this.#adapters === "disk") {
        await sleep(5);
        this.clock.advance(50);
        continue;
      }
      if (turn % 20 === 0) this.clock.advance(250);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Until every change is in a segment and every segment has the fields of the schema. */
  async sealed(collection: string): Promise<void> {
    this.clock.advance(this.#settings.sealIdleMs);
    await this.until(`${collection} is sealed`, () => {
      const { backpressure, manifest, meta } = this.engine.collections.get("n", collection);
      const filled = manifest.segments.every(({ schemaVersion }) => schemaVersion >= meta.fillVersion);
      return backpressure.backlogRecords === 0 && filled;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.stop();
    await this.store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startEngine(): Promise<void> {
    this.engine = new Engine(
      {
        store: this.store,
        objects: this.objects,
        ownership: new SingleOwnership(this.#folder),
        clock: this.clock,
        random: new NodeRandom(),
        threads: this.#threads(),
        sqlChildren: inlineSqlChildren(),
      },
      { dedupWindowMs: 3_600_000, sql: defaultSqlSettings, collections: this.#settings },
      { onBackgroundError: (error) => this.errors.push(error) },
    );
    await this.engine.own();
  }

  #openDisk(): Store {
    return new LmdbStore(join(this.#folder, "store"));
  }

  /** Takes a thread away with all it holds; in memory only. */
  lose(role: ThreadRole, place = 0): void {
    this.#losable?.lose(role, place);
  }

  #counted(service: ThreadService): ThreadService {
    const place = this.searches.push(0) - 1;
    const held = new Set<number>();
    this.held.push(held);
    return {
      handle: (message) => {
        const { kind, collection } = message as { kind: string; collection: number };
        if (kind === "search") this.searches[place]!++;
        if (kind === "open") held.add(collection);
        if (kind === "close") held.delete(collection);
        return service.handle(message);
      },
    };
  }

  #threads(): Threads {
    if (this.#adapters === "disk") {
      return new WorkerThreads(new URL("../../../src/composition/process/worker.ts", import.meta.url), {
        dataDir: this.#folder,
        objects: { kind: "files", folder: join(this.#folder, "objects") },
      } satisfies WorkerData);
    }
    const loader = new ObjectSegmentLoader(this.objects);
    this.#losable = new LosableThreads((role) => {
      switch (role) {
        case "index":
          return this.#counted(new IndexService(loader, this.clock, new SeededRandom(1)));
        case "build":
          return new BuildService(this.objects, loader, this.clock);
        case "dedup":
          return segmentService;
      }
    });
    return this.#losable;
  }
}
