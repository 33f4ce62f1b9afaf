import { EsbuildBundler } from "../../src/adapter/esbuild/bundler.ts";
import { InlineChildren } from "../../src/adapter/inline/children.ts";
import { InlineThreads } from "../../src/adapter/inline/threads.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { QuickJsSandboxes } from "../../src/adapter/quickjs/sandbox.ts";
import { SeededRandom } from "../../src/adapter/simulated/random.ts";
import { sqlDialects } from "../../src/composition/sql-dialects.ts";
import { BuildService } from "../../src/engine/collection/build/build-service.ts";
import { IndexService } from "../../src/engine/collection/index/index-service.ts";
import type { AnswerDeps } from "../../src/engine/collection/index/query-answers.ts";
import { ObjectSegmentLoader } from "../../src/engine/collection/index/segment-loader.ts";
import { defaultCollectionSettings } from "../../src/engine/collection/settings.ts";
import type { EngineSettings } from "../../src/engine/engine.ts";
import { segmentService } from "../../src/engine/event/dedup/segment-work.ts";
import { RunnerService } from "../../src/engine/live/function/runner-service.ts";
import { SqlService } from "../../src/engine/sql/service/sql-service.ts";
import { defaultSqlSettings } from "../../src/engine/sql/settings.ts";
import type { Children } from "../../src/port/children.ts";
import type { Clock } from "../../src/port/clock.ts";
import type { ObjectStore } from "../../src/port/object-store.ts";
import type { Store } from "../../src/port/store.ts";
import type { Threads } from "../../src/port/threads.ts";

/** The services of the engine's threads, run in this one. Without `answers` they leave whole queries to the engine. */
export function inlineThreads(objects: ObjectStore, clock: Clock = new NodeClock(), answers?: AnswerDeps): Threads {
  const loader = new ObjectSegmentLoader(objects);
  return new InlineThreads((role) => {
    switch (role) {
      case "index":
        return new IndexService(loader, clock, new SeededRandom(1), undefined, undefined, answers);
      case "build":
        return new BuildService(objects, loader, clock);
      case "dedup":
        return segmentService;
    }
  });
}

/** The service of SQL statements, run in this process; without a store nothing is read. */
export function inlineSqlChildren(store?: Store): Children {
  return new InlineChildren(() =>
    store === undefined ? { handle: () => undefined } : new SqlService(store, defaultSqlSettings, sqlDialects),
  );
}

/** Live functions run in this process, by QuickJS. */
export function inlineFunctions() {
  return {
    runners: new InlineChildren((parent) => new RunnerService(new QuickJsSandboxes(), parent)),
    bundler: new EsbuildBundler(new URL("../../src/live/index.ts", import.meta.url)),
  };
}

export const testSettings: EngineSettings = {
  dedupWindowMs: 3_600_000,
  collections: defaultCollectionSettings,
  sql: defaultSqlSettings,
};
