import { join } from "node:path";
import { serveParent } from "../../adapter/children/serve-parent.ts";
import { LmdbStore } from "../../adapter/lmdb/store.ts";
import { GarbageCollector } from "../../adapter/threads/garbage.ts";
import { SqlService } from "../../engine/sql/service/sql-service.ts";
import type { SqlSettings } from "../../engine/sql/settings.ts";
import { sqlDialects } from "../sql-dialects.ts";

/** What a SQL process gets when it starts. */
export interface SqlProcessData {
  readonly dataDir: string;
  readonly settings: SqlSettings;
}

/** The composition root of a process of SQL statements. It reads the server's store by itself and writes nothing. */
serveParent(async (data) => {
  const { dataDir, settings } = data as SqlProcessData;
  const store = new LmdbStore(join(dataDir, "store"), { shared: true });
  store.dropDeadReaders();
  const service = new SqlService(store, settings, sqlDialects);
  await service.warm();
  const garbage = new GarbageCollector();
  return {
    async handle(message: unknown) {
      garbage.begin();
      try {
        return await service.handle(message);
      } finally {
        garbage.done();
      }
    },
  };
});
