import { NodeClock } from "../adapter/node/clock.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { WorkerThreads } from "../adapter/threads/threads.ts";
import { defaultCollectionSettings } from "../engine/collection/settings.ts";
import { Engine } from "../engine/engine.ts";
import { defaultSqlSettings } from "../engine/sql/settings.ts";
import type { OfflineData } from "./offline.ts";

const dedupWindowMs = 3_600_000;

/** Makes the index of every collection anew from its documents, without a server. Tells each when it is done. */
export async function* rebuildIndexes(
  data: OfflineData,
  dataDir: string,
  signal: AbortSignal,
): AsyncGenerator<{ readonly namespace: string; readonly collection: string; readonly documents: number }> {
  const { store, objects, ownership } = data;
  let failure: unknown;
  const stop = new AbortController();
  const engine = new Engine(
    {
      store,
      objects,
      ownership,
      clock: new NodeClock(),
      random: new NodeRandom(),
      threads: new WorkerThreads(new URL("../worker.ts", import.meta.url), { dataDir, sql: defaultSqlSettings }),
    },
    { dedupWindowMs, collections: defaultCollectionSettings, sql: defaultSqlSettings },
    {
      onBackgroundError: (error) => {
        failure = error;
        stop.abort(error);
      },
    },
  );
  try {
    await engine.start();
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
    if (failure !== undefined) throw failure;
  } finally {
    await engine.stop();
  }
}
