import type { Engine } from "../../../engine/engine.ts";
import { unavailable } from "../../../engine/errors.ts";
import type { Answer, FastRoute } from "../fast-route.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Route } from "../route.ts";
import { answer, text, textAnswer } from "../schemas.ts";

function healthStatus(): { status: string } {
  return { status: "ok" };
}

function readyStatus(engine: Engine): { status: string } {
  if (engine.isReady) return { status: "ready" };
  throw unavailable(engine.isDraining ? "the server is draining" : "the metastore has no leader yet");
}

/** Health, readiness and metrics. */
export function operationRoutes(engine: Engine, metrics: Metrics): Route[] {
  const statusAnswer = answer("As asked", { status: text });
  return [
    {
      method: "GET",
      url: "/health",
      access: "open",
      tag: "operations",
      schema: { summary: "Whether the process is up", response: { 200: statusAnswer } },
      handler: healthStatus,
    },
    {
      method: "GET",
      url: "/ready",
      access: "open",
      tag: "operations",
      schema: {
        summary: "Whether the metastore has a leader and the server accepts work",
        response: { 200: statusAnswer },
      },
      handler: () => readyStatus(engine),
    },
    {
      method: "GET",
      url: "/metrics",
      access: "instance-read",
      tag: "operations",
      schema: {
        summary: "Metrics in the Prometheus text format",
        response: { 200: textAnswer("The metrics", "text/plain") },
      },
      handler: async (_request, reply) => {
        reply.header("content-type", metrics.registry.contentType);
        return reply.send(await metrics.registry.metrics());
      },
    },
  ];
}

/**
 * Health and readiness. Not because they come by the thousand, but because they must be told when everything else does: a
 * new connection that asks for one costs less than half of what it does on the ordinary way.
 */
export function probeRoutes(engine: Engine): FastRoute[] {
  return [probe("/health", healthStatus), probe("/ready", () => readyStatus(engine))];
}

function probe(url: string, status: () => object): FastRoute {
  const run = async (): Promise<Answer> => ({ headers: [], body: JSON.stringify(status()) });
  const work = { namespace: "", run };
  return { method: "GET", url, access: "open", isShort: false, match: (target) => (target === url ? work : undefined) };
}
