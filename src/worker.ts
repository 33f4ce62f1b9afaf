import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { FilesObjectStore } from "./adapter/files/object-store.ts";
import { LanceColumnar } from "./adapter/lance/columnar.ts";
import { LmdbStore } from "./adapter/lmdb/store.ts";
import { NodeClock } from "./adapter/node/clock.ts";
import { NodeRandom } from "./adapter/node/random.ts";
import { runInBackground } from "./adapter/threads/priority.ts";
import type { ThreadFailure, ThreadReply, ThreadRequest } from "./adapter/threads/threads.ts";
import { UsearchGraphs } from "./adapter/usearch/graphs.ts";
import { BuildService } from "./engine/collection/build/build-service.ts";
import { IndexService } from "./engine/collection/index/index-service.ts";
import { ObjectSegmentLoader } from "./engine/collection/index/segment-loader.ts";
import { EngineError } from "./engine/errors.ts";
import type { SqlSettings } from "./engine/sql/settings.ts";
import { SqlService } from "./engine/sql/thread/sql-service.ts";
import { type ThreadRole, type ThreadService, Transferred } from "./port/threads.ts";

/** What every thread is told when it starts. */
export interface WorkerData {
  readonly dataDir: string;
  readonly sql: SqlSettings;
}

/** The composition root of a worker thread. */
function createService(role: ThreadRole, { dataDir, sql }: WorkerData): ThreadService {
  const objects = new FilesObjectStore(join(dataDir, "objects"));
  const graphs = new UsearchGraphs();
  const loader = new ObjectSegmentLoader(objects, graphs);
  const clock = new NodeClock();
  switch (role) {
    case "index":
      return new IndexService(loader, clock, new NodeRandom());
    case "build":
      return new BuildService(objects, loader, clock, new LanceColumnar(), graphs);
    case "sql":
      // The same store as the main thread's, of which this one only reads.
      return new SqlService(new LmdbStore(join(dataDir, "store"), { shared: true }), sql);
  }
}

function failureOf(error: unknown): ThreadFailure {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof EngineError)) return { reason: undefined, message, stack, details: {} };
  return { reason: error.reason, message, stack, details: error.details };
}

const { role, data } = workerData as { role: ThreadRole; data: WorkerData };
if (role === "build") runInBackground();
const service = createService(role, data);
const port = parentPort!;

port.on("message", async ({ id, message }: ThreadRequest) => {
  let reply: ThreadReply;
  let transfer: readonly ArrayBuffer[] = [];
  try {
    const answer = await service.handle(message);
    if (answer instanceof Transferred) transfer = answer.transfer;
    reply = { id, value: answer instanceof Transferred ? answer.value : answer };
  } catch (error) {
    reply = { id, error: failureOf(error) };
  }
  if (id !== 0) port.postMessage(reply, transfer as ArrayBuffer[]);
});
