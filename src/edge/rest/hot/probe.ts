import type { Engine } from "../../../engine/engine.ts";
import { healthStatus, readyStatus } from "../routes/operations.ts";
import type { Answer, HotRoute } from "./route.ts";

/**
 * Health and readiness. Not because they come by the thousand, but because they must be told when everything else does: a
 * new connection that asks for one costs less than half of what it does on the ordinary way.
 */
export function probeRoutes(engine: Engine): HotRoute[] {
  return [probe("/health", healthStatus), probe("/ready", () => readyStatus(engine))];
}

function probe(url: string, status: () => object): HotRoute {
  const run = async (): Promise<Answer> => ({ headers: [], body: JSON.stringify(status()) });
  const work = { namespace: "", run };
  return { method: "GET", url, access: "open", isShort: false, match: (target) => (target === url ? work : undefined) };
}
