import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { FilesObjectStore } from "./adapter/files/object-store.ts";
import { NodeClock } from "./adapter/node/clock.ts";
import { NodeRandom } from "./adapter/node/random.ts";
import { GarbageCollector } from "./adapter/threads/garbage.ts";
import { runInBackground } from "./adapter/threads/priority.ts";
import type { ThreadFailure, ThreadReply, ThreadRequest } from "./adapter/threads/threads.ts";
import { UsearchGraphs } from "./adapter/usearch/graphs.ts";
import { ObjectSegmentLoader } from "./engine/collection/index/segment-loader.ts";
import { EngineError } from "./engine/errors.ts";
import type { SqlSettings } from "./engine/sql/settings.ts";
import { type ThreadRole, type ThreadService, Transferred } from "./port/threads.ts";

/** What every thread is told when it starts. */
export interface WorkerData {
  readonly dataDir: string;
  readonly sql: SqlSettings;
}

/**
 * The composition root of a worker thread. What a role needs is loaded for that role alone: each thread has its own
 * copy of the code, and the native parts stay mapped for good.
 */
async function createService(role: ThreadRole, { dataDir, sql }: WorkerData): Promise<ThreadService> {
  if (role === "sql") {
    const { LmdbStore } = await import("./adapter/lmdb/store.ts");
    const { SqlService } = await import("./engine/sql/thread/sql-service.ts");
    // The same store as the main thread's, of which this one only reads.
    return new SqlService(new LmdbStore(join(dataDir, "store"), { shared: true }), sql);
  }
  const objects = new FilesObjectStore(join(dataDir, "objects"));
  const graphs = new UsearchGraphs();
  const loader = new ObjectSegmentLoader(objects, graphs);
  const clock = new NodeClock();
  if (role === "index") {
    const { IndexService } = await import("./engine/collection/index/index-service.ts");
    return new IndexService(loader, clock, new NodeRandom());
  }
  const { LanceColumnar } = await import("./adapter/lance/columnar.ts");
  const { BuildService } = await import("./engine/collection/build/build-service.ts");
  return new BuildService(objects, loader, clock, new LanceColumnar(), graphs, () => garbage.collectIfAbove(0));
}

function failureOf(error: unknown): ThreadFailure {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof EngineError)) return { reason: undefined, message, stack, details: {} };
  return { reason: error.reason, message, stack, details: error.details };
}

const { role, data } = workerData as { role: ThreadRole; data: WorkerData };
if (role === "build") runInBackground();
const garbage = new GarbageCollector();
const service = await createService(role, data);
// What is sent before waits in the port.
const port = parentPort!;

port.on("message", async ({ id, message }: ThreadRequest) => {
  let reply: ThreadReply;
  let transfer: readonly ArrayBuffer[] = [];
  garbage.begin();
  try {
    const answer = await service.handle(message);
    if (answer instanceof Transferred) transfer = answer.transfer;
    reply = { id, value: answer instanceof Transferred ? answer.value : answer };
  } catch (error) {
    reply = { id, error: failureOf(error) };
  }
  if (id !== 0) port.postMessage(reply, transfer as ArrayBuffer[]);
  garbage.done();
});
