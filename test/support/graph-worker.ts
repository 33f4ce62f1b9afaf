// In a worker thread: builds a graph if it is given vectors, then opens it and searches for every query, many times.
import { parentPort, workerData } from "node:worker_threads";
import { UsearchGraphs } from "../../src/adapter/vectors/graphs.ts";

interface Task {
  readonly path: string;
  readonly rows?: Float32Array;
  readonly queries: readonly Float32Array[];
  readonly times: number;
}

const { path, rows, queries, times } = workerData as Task;
const graphs = new UsearchGraphs();
if (rows !== undefined) await graphs.build(path, { rows, dim: queries[0]!.length, distance: "l2" });
const graph = await graphs.open(path);
let found: (readonly number[])[] = [];
for (let i = 0; i < times; i++) found = queries.map((query) => [...graph.search(query, 10)!]);
parentPort?.postMessage(found);
