import { ask } from "../../test/support/http.ts";
import type { ServerProcess } from "../../test/support/process.ts";
import { cpuSeconds } from "./cpu.ts";

/** Longer than a collection rests before its segments are made one, */
const restedMs = 17_000;
/** and how long nothing may happen after that. */
const stillMs = 2_000;
const lookMs = 250;
/** Of a processor: a server that does more is still at work. */
const idleShare = 0.1;

/** Everything is in segments, and no merge of them is due or under way. */
export async function settled({ url, child }: ServerProcess): Promise<void> {
  const startedMs = performance.now();
  let version = "";
  let spent = cpuSeconds(child.pid!);
  for (let still = 0; still < stillMs / lookMs || performance.now() - startedMs < restedMs; ) {
    const { json } = await ask(`${url}/v1/namespaces/bench/collections/docs`);
    const { manifest, backpressure } = json;
    const before = spent;
    spent = cpuSeconds(child.pid!);
    const isIdle = (spent - before) * 1000 <= lookMs * idleShare;
    still = isIdle && manifest.version === version && backpressure.backlog_records === 0 ? still + 1 : 0;
    version = manifest.version;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
