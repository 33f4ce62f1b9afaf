import { InlineThreads } from "../../src/adapter/inline/threads.ts";
import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { BuildService } from "../../src/engine/collection/build/build-service.ts";
import { IndexService } from "../../src/engine/collection/index/index-service.ts";
import { ObjectSegmentLoader } from "../../src/engine/collection/index/segment-loader.ts";
import { type CollectionSettings, defaultCollectionSettings } from "../../src/engine/collection/settings.ts";
import { Engine } from "../../src/engine/engine.ts";

/** A tail that is never sealed on its own, so that what a collection tells of itself stands still. */
export const unsealed: Partial<CollectionSettings> = { sealIdleMs: 1e12, sealAgeMs: 1e12 };

/** The whole engine on adapters in memory, in one thread. */
export async function startMemoryEngine(settings: Partial<CollectionSettings> = {}): Promise<Engine> {
  const objects = new MemoryObjectStore();
  const loader = new ObjectSegmentLoader(objects);
  const engine = new Engine(
    {
      store: new MemoryStore(),
      objects,
      ownership: { isOwner: true, epoch: 1, acquire: async () => {}, [Symbol.asyncDispose]: async () => {} },
      clock: new NodeClock(),
      random: new NodeRandom(),
      threads: new InlineThreads((role) =>
        role === "index" ? new IndexService(loader) : new BuildService(objects, loader),
      ),
    },
    { collections: { ...defaultCollectionSettings, ...settings }, dedupWindowMs: 3_600_000 },
  );
  await engine.start();
  return engine;
}
