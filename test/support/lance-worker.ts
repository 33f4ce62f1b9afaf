// Applies one change in a worker thread.
import { parentPort, workerData } from "node:worker_threads";
import { LanceColumnar } from "../../src/adapter/lance/columnar.ts";
import { numberedChange, writerSchema } from "./lance-writer.ts";

const { path, step } = workerData as { path: string; step: number };
const dataset = await new LanceColumnar().open(path, writerSchema);
const version = await dataset.apply(numberedChange(step));
await dataset.close();
parentPort?.postMessage(version);
