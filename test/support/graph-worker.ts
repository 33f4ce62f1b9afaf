// In a worker thread: builds a graph if it is given vectors, then opens it, or what another thread has open, and searches for every query,
// many times.
import { parentPort, workerData } from "node:worker_threads";
import { UsearchGraphs } from "../../src/adapter/vectors/graphs.ts";
import type { SharedBytes } from "../../src/port/shared-bytes.ts";

interface Task {
  readonly path: string;
  readonly shared?: SharedBytes;
  readonly rows?: Float32Array;
  readonly queries: readonly Float32Array[];
  readonly times: number;
}

const { path, shared, rows, queries, times } = workerData as Task;
const graphs = new UsearchGraphs();
if (rows !== undefined) await graphs.build(path, { rows, dim: queries[0]!.length, distance: "l2" });
const graph = shared === undefined ? await graphs.open(path) : graphs.openShared(shared);
let found: (readonly number[])[] = [];
for (let i = 0; i < times; i++) found = queries.map((query) => [...graph.search(query, 10)!]);
parentPort?.postMessage(found);
