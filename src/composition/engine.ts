import type { Logger } from "pino";
import { ChildProcesses } from "../adapter/children/children.ts";
import { EsbuildBundler } from "../adapter/esbuild/bundler.ts";
import { WorkerThreads } from "../adapter/threads/threads.ts";
import type { Metrics } from "../edge/rest/metrics/metrics.ts";
import { type CollectionSettings, defaultCollectionSettings } from "../engine/collection/settings.ts";
import { Engine } from "../engine/engine.ts";
import { defaultSqlSettings, type SqlSettings } from "../engine/sql/settings.ts";
import { shortRequests } from "../engine/turns.ts";
import type { Clock } from "../port/clock.ts";
import type { ObjectStore } from "../port/object-store.ts";
import type { Ownership } from "../port/ownership.ts";
import type { Random } from "../port/random.ts";
import type { Store } from "../port/store.ts";
import type { ServerConfig } from "./config/config.ts";
import { liveSettingsOf } from "./config/live.ts";
import type { ObjectsPlace } from "./objects.ts";
import type { WorkerData } from "./process/worker.ts";
import { sqlChildren } from "./sql-children.ts";

/** A standby that is further behind answers nothing from its indexes. */
const clusterGraceMs = 60_000;

function collectionSettings(config: ServerConfig): CollectionSettings {
  return {
    ...defaultCollectionSettings,
    objectGraceMs: config.clusterLog === undefined ? 0 : clusterGraceMs,
    tailRecordsMax: config.collectionTailRecordsMax,
    tailBytesMax: config.collectionTailBytesMax,
    sealRecords: config.collectionSealRecords,
    sealIdleMs: config.collectionSealIdleMs,
    sealAgeMs: config.collectionSealAgeMs,
    searchThreads: config.searchThreads,
  };
}

function sqlSettings(config: ServerConfig): SqlSettings {
  return {
    ...defaultSqlSettings,
    timeMs: config.sqlTimeMs,
    memoryBytes: config.sqlMemoryBytes,
    threads: config.sqlThreads,
    processesMax: config.sqlProcesses,
    runningMax: config.sqlRunningMax,
    waitingMax: config.sqlWaitingMax,
    rowsMax: config.sqlRowsMax,
    streamBytesMax: config.sqlStreamBytes,
  };
}

/** What a runner with its sandboxes may take. */
function runnerMemory({ liveRunHeapBytes }: ServerConfig): { dataBytesMax: number; residentBytesMax: number } {
  const sandboxes = 8 * liveRunHeapBytes;
  // Each isolate sets aside far more than it uses, which the limit of the system counts.
  return { dataBytesMax: 2 ** 40, residentBytesMax: sandboxes + 256 * 1024 * 1024 };
}

export interface EngineGround {
  readonly store: Store;
  readonly objects: ObjectStore;
  /** Where its threads find the objects. */
  readonly place: ObjectsPlace;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
}

/** The engine with its threads and processes, none of which runs yet. */
export function createEngine(config: ServerConfig, log: Logger, ground: EngineGround): Engine {
  const { store, objects, place, ownership, clock, random, metrics } = ground;
  return new Engine(
    {
      store,
      objects,
      ownership,
      clock,
      random,
      threads: new WorkerThreads(new URL("./process/worker.ts", import.meta.url), {
        dataDir: config.dataDir,
        objects: place,
        shortRequests: shortRequests.counter,
      } satisfies WorkerData),
      sqlChildren: sqlChildren(config.dataDir, sqlSettings(config), (why, words) => {
        log.warn({ why, words }, "a process of SQL statements was lost; only what it worked on is");
      }),
      functions: {
        runners: new ChildProcesses({
          entry: new URL("./process/live-runner.ts", import.meta.url),
          // Isolates can't be made from the snapshot that the runtime starts with.
          nodeArgs: ["--no-node-snapshot"],
          env: { TZ: "UTC" },
          data: { engine: config.liveEngine },
          ...runnerMemory(config),
          onLost: (why, words) => log.warn({ why, words }, "a runner of live functions was lost"),
        }),
        bundler: new EsbuildBundler(new URL("../live/index.ts", import.meta.url)),
      },
    },
    {
      dedupWindowMs: config.dedupWindowMs,
      collections: collectionSettings(config),
      sql: sqlSettings(config),
      live: liveSettingsOf(config),
    },
    {
      onCommitGroup: (group) => metrics.onCommitGroup(group),
      onStatement: (outcome, ms) => metrics.onStatement(outcome, ms),
      onQuery: (kind, ms) => metrics.onQuery(kind, ms),
      onBackgroundError: (err) => log.error({ err }, "background work failed; it will be tried again"),
    },
  );
}
