import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import type { AnswerDeps } from "../../src/engine/collection/index/query-answers.ts";
import { type CollectionSettings, defaultCollectionSettings } from "../../src/engine/collection/settings.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { Clock } from "../../src/port/clock.ts";
import { inlineFunctions, inlineSqlChildren, inlineThreads, testSettings } from "./engine.ts";

/** A tail that is never sealed on its own, so that what a collection tells of itself stands still. */
export const unsealed: Partial<CollectionSettings> = { sealIdleMs: 1e12, sealAgeMs: 1e12 };

/** The whole engine on adapters in memory, in one thread. */
export async function startMemoryEngine(
  settings: Partial<CollectionSettings> = {},
  store = new MemoryStore(),
  clock: Clock = new NodeClock(),
  answers?: AnswerDeps,
): Promise<Engine> {
  const objects = new MemoryObjectStore();
  const engine = new Engine(
    {
      store,
      objects,
      ownership: {
        isOwner: true,
        epoch: 1,
        acquire: async () => {},
        confirm: async () => {},
        [Symbol.asyncDispose]: async () => {},
      },
      clock,
      random: new NodeRandom(),
      threads: inlineThreads(objects, clock, answers),
      sqlChildren: inlineSqlChildren(store),
      functions: inlineFunctions(),
    },
    { ...testSettings, collections: { ...defaultCollectionSettings, ...settings } },
  );
  await engine.own();
  return engine;
}
