import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeClock } from "../adapter/node/clock.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { WorkerThreads } from "../adapter/threads/threads.ts";
import type { WorkerData } from "../composition/process/worker.ts";
import { sqlChildren } from "../composition/sql-children.ts";
import { defaultCollectionSettings } from "../engine/collection/settings.ts";
import { Engine } from "../engine/engine.ts";
import { checkFormat } from "../engine/format.ts";
import { Log } from "../engine/log/log.ts";
import { type LinkRepair, Repair } from "../engine/repair.ts";
import { defaultSqlSettings } from "../engine/sql/settings.ts";
import type { OfflineData } from "./offline.ts";

/** Longer than any server's: what it remembers of events is not ours to forget. */
const dedupWindowMs = 100 * 365 * 86_400_000;
const lookMs = 50;

/** What was rebuilt, or left as it is and why. */
export type Rebuilt =
  | { readonly namespace: string; readonly collection: string; readonly documents: number }
  | { readonly namespace: string; readonly link: string; readonly counters: "counted again" | "kept"; why?: string };

/**
 * Rebuilds derived data without a server: indexes and columnar datasets from the documents, counters from the log
 * where it still has all that they counted. Tells each when it is done.
 */
export async function* rebuildDerived(
  data: OfflineData,
  dataDir: string,
  signal: AbortSignal,
): AsyncGenerator<Rebuilt> {
  const { store, objects, ownership } = data;
  const clock = new NodeClock();
  let failure: unknown;
  const stop = new AbortController();
  const engine = new Engine(
    {
      store,
      objects,
      ownership,
      clock,
      random: new NodeRandom(),
      threads: new WorkerThreads(new URL("../composition/process/worker.ts", import.meta.url), {
        dataDir,
        objects: { kind: "files", folder: join(dataDir, "objects") },
      } satisfies WorkerData),
      sqlChildren: sqlChildren(dataDir, defaultSqlSettings),
    },
    { dedupWindowMs, collections: defaultCollectionSettings, sql: defaultSqlSettings },
    {
      onBackgroundError: (error) => {
        failure = error;
        stop.abort(error);
      },
    },
  );
  // A log of its own: the engine's learns what is stored only when the engine starts.
  const log = new Log(store, clock);
  const repair = new Repair({ store, objects, metastore: engine.metastore, log, clock });
  const links: LinkRepair[] = [];
  try {
    await checkFormat(store);
    await repair.forgetIndexes();
    for await (const link of repair.forgetCounters()) links.push(link);
    await engine.own();
    for (const { name: namespace } of [...engine.metastore.namespaces()]) {
      let page = "";
      do {
        const { infos, nextPageToken } = engine.collections.list(namespace, 100, page);
        for (const { meta } of infos) {
          await engine.collections.rebuild(namespace, meta.name, AbortSignal.any([signal, stop.signal]));
          const { manifest } = engine.collections.get(namespace, meta.name);
          const documents = manifest.segments.reduce((sum, each) => sum + each.documents - each.deleted, 0);
          yield { namespace, collection: meta.name, documents };
        }
        page = nextPageToken;
      } while (page !== "");
    }
    for (const { namespace, link, kept } of links) {
      if (kept !== undefined) yield { namespace, link, counters: "kept", why: kept };
      else {
        await caughtUp(engine, namespace, link, AbortSignal.any([signal, stop.signal]));
        yield { namespace, link, counters: "counted again" };
      }
    }
    if (failure !== undefined) throw failure;
  } finally {
    await engine.stop();
  }
}

/** Waits until a link has counted every record of its source. */
async function caughtUp(engine: Engine, namespace: string, name: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const behind = [...engine.links.lags()].find(({ link }) => link.namespace === namespace && link.name === name);
    if (behind === undefined || behind.records === 0) return;
    await sleep(lookMs, undefined, { signal });
  }
}
