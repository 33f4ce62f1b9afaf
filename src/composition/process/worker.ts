import assert from "node:assert/strict";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { NodeClock } from "../../adapter/node/clock.ts";
import { GarbageCollector, garbageLimits } from "../../adapter/threads/garbage.ts";
import { Outbox } from "../../adapter/threads/outbox.ts";
import { CorePause, runInBackground } from "../../adapter/threads/pause.ts";
import type { ThreadFailure, ThreadReply, ThreadRequest } from "../../adapter/threads/threads.ts";
import { EngineError } from "../../engine/errors.ts";
import type { FormatName, QueryFormat } from "../../engine/retrieval/format.ts";
import { type ThreadRole, type ThreadService, Transferred } from "../../port/threads.ts";
import { lanceOptions, type ObjectsPlace, openObjects } from "../objects.ts";

/** What every thread gets when it starts. */
export interface WorkerData {
  readonly dataDir: string;
  readonly objects: ObjectsPlace;
  /** Counts requests that long work makes room for, in memory of all threads. */
  readonly shortRequests?: Int32Array;
}

/**
 * The composition root of a worker thread. A role loads no more than it needs: the others' modules would take as long to
 * start as the first query after it may take.
 */
async function createService(role: ThreadRole, { dataDir, objects: place }: WorkerData): Promise<ThreadService> {
  switch (role) {
    case "index": {
      const { IndexService } = await import("../../engine/collection/index/index-service.ts");
      const { NodeRandom } = await import("../../adapter/node/random.ts");
      const { restQueries } = await import("../../edge/rest/query/format.ts");
      const { LmdbStore } = await import("../../adapter/lmdb/store.ts");
      const { loader } = await segments(place);
      const store = new LmdbStore(join(dataDir, "store"), { shared: true });
      const onLeftBehind = () => garbage.leftBehind();
      const answers = { formatOf: queryFormats(restQueries), store };
      return new IndexService(loader, new NodeClock(), new NodeRandom(), onLeftBehind, pause.ifDue, answers);
    }
    case "build": {
      const { BuildService } = await import("../../engine/collection/build/build-service.ts");
      const { LanceColumnar } = await import("../../adapter/lance/columnar.ts");
      const { objects, graphs, loader } = await segments(place);
      // Not before: callers wait for a thread that is still starting.
      runInBackground();
      const columnar = new LanceColumnar(lanceOptions(place));
      const onLeftBehind = () => {
        garbage.collectIfAbove(garbageLimits.idleBytesMin);
        garbage.leftBehind();
      };
      return new BuildService(objects, loader, new NodeClock(), columnar, graphs, onLeftBehind, pause.ifDue);
    }
    case "dedup": {
      const { segmentService } = await import("../../engine/event/dedup/segment-work.ts");
      return segmentService;
    }
  }
}

/** RPC's is loaded with the first query in it, which is left to the listener's thread. */
function queryFormats(rest: QueryFormat): (name: FormatName) => QueryFormat | undefined {
  let rpc: QueryFormat | undefined;
  let isAsked = false;
  return (name) => {
    if (name === "rest") return rest;
    if (!isAsked) {
      isAsked = true;
      void import("../../edge/rpc/query-format.ts").then(({ rpcQueries }) => {
        rpc = rpcQueries;
      });
    }
    return rpc;
  };
}

async function segments(place: ObjectsPlace) {
  const { NearRows } = await import("../../adapter/vectors/near-rows.ts");
  const { UsearchGraphs } = await import("../../adapter/vectors/graphs.ts");
  const { ObjectSegmentLoader } = await import("../../engine/collection/index/segment-loader.ts");
  const objects = await openObjects(place);
  const graphs = new NearRows(new UsearchGraphs(pause.ifDue), pause.ifDue);
  return { objects, graphs, loader: new ObjectSegmentLoader(objects, graphs) };
}

function failureOf(error: unknown): ThreadFailure {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof EngineError)) return { reason: undefined, message, stack, details: {} };
  return { reason: error.reason, message, stack, details: error.details };
}

const { role, data } = workerData as { role: ThreadRole; data: WorkerData };
const garbage = new GarbageCollector();
const pause = new CorePause({ shortRequests: data.shortRequests });
// What is sent before waits in the port.
const service = await createService(role, data);
const port = parentPort!;

const replies = new Outbox<ThreadReply>(
  (together, transfer) => port.postMessage(together, transfer),
  ({ id }, error) => replies.push({ id, error: failureOf(error) }),
);

async function answer({ id, message }: ThreadRequest): Promise<void> {
  let reply: ThreadReply;
  let transfer: readonly ArrayBuffer[] = [];
  assert(id >= 0, "a message has the form of a request");
  garbage.begin();
  try {
    const answer = await service.handle(message);
    if (answer instanceof Transferred) transfer = answer.transfer;
    reply = { id, value: answer instanceof Transferred ? answer.value : answer };
  } catch (error) {
    reply = { id, error: failureOf(error) };
  }
  if (id !== 0) replies.push(reply, transfer);
  garbage.done();
}

port.on("message", (requests: readonly ThreadRequest[]) => {
  for (const request of requests) void answer(request);
});
