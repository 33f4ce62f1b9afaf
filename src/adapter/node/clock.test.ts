import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { NodeClock } from "./clock.ts";

test("a moment is the same in every thread", async () => {
  const clock = new NodeClock();
  const entry = new URL("./clock.ts", import.meta.url).href;
  const code = `import("${entry}").then(({ NodeClock }) => {
    const { parentPort } = require("node:worker_threads");
    parentPort.once("message", () => parentPort.postMessage(new NodeClock().steadyMs()));
    parentPort.postMessage("ready");
  });`;
  const worker = new Worker(code, { eval: true });
  await once(worker, "message");
  const before = clock.steadyMs();
  worker.postMessage("now");
  const [there] = (await once(worker, "message")) as [number];
  const after = clock.steadyMs();
  // What the clocks may be apart, which is far less than threads of their own origin would be.
  assert(there >= before - 1 && there <= after + 1, `${there} is not between ${before} and ${after}`);
  await worker.terminate();
});
