import type { FastifyRequest } from "fastify";
import { authorize, needs } from "../../../engine/auth/access.ts";
import { devLoopback } from "../../../engine/auth/principal.ts";
import type { Engine } from "../../../engine/engine.ts";
import { administrative } from "../../../engine/live/builtins.ts";
import type { Outcome } from "../../../engine/live/run.ts";
import type { LiveObject } from "../../../engine/live/value.ts";
import { clientSignal, type Route, readToken, sendToken } from "../route.ts";
import { answer, array, namespacePath, object, text, tokenHeader } from "../schemas.ts";

interface CallBody {
  readonly function: string;
  readonly args?: LiveObject | null;
}

const callSchema = object({ function: text, args: { type: ["object", "null"] } }, ["function"]);
const number = { type: "number" };
const outcomeAnswer = answer("What the function returned or threw", {
  value: {},
  error: { type: "object", description: "kind, message and data of the thrown error" },
  tick: { type: "integer" },
  logs: array(text),
});

/** The Live engine for the console, which can reach no other port than its own. */
export function liveRoutes(engine: Engine): Route[] {
  return [...viewRoutes(engine), ...callRoutes(engine)];
}

function viewRoutes({ live }: Engine): Route[] {
  return [
    {
      method: "GET",
      url: "/v1/namespaces/:ns/live",
      access: "read",
      tag: "live",
      schema: {
        summary: "Tables, functions and sessions of the Live engine",
        params: namespacePath,
        response: {
          200: answer("Tables, functions and sessions", {
            version: { type: "integer" },
            tick: { type: "integer" },
            tables: array({ type: "object" }),
            functions: array({ type: "object" }),
            sessions: { type: "integer" },
          }),
        },
      },
      handler: (request) => live.overview(namespaceOf(request)),
    },
    {
      method: "GET",
      url: "/v1/namespaces/:ns/live/runs",
      access: "admin",
      tag: "live",
      schema: {
        summary: "The last runs of live functions, with their logs",
        params: namespacePath,
        response: {
          200: answer("The newest first", {
            runs: array(
              object({ time_ms: number, function: text, kind: text, ms: number, error: text, logs: array(text) }),
            ),
          }),
        },
      },
      handler: (request) => {
        const runs = live.runs(namespaceOf(request));
        return { runs: runs.map(({ timeMs, ...run }) => ({ time_ms: timeMs, ...run })) };
      },
    },
    {
      method: "GET",
      url: "/v1/namespaces/:ns/live/sessions",
      access: "admin",
      tag: "live",
      schema: {
        summary: "List the newest open sessions and what they watch",
        params: namespacePath,
        response: {
          200: answer("Sessions, the newest first", {
            sessions: array(object({ opened_ms: number, principal: text, tick: number, queries: array(text) })),
          }),
        },
      },
      handler: (request) => {
        const sessions = live.sessions(namespaceOf(request));
        return { sessions: sessions.map(({ openedMs, ...session }) => ({ opened_ms: openedMs, ...session })) };
      },
    },
  ];
}

function callRoutes({ live }: Engine): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/namespaces/:ns/live/query",
      access: "read",
      tag: "live",
      schema: {
        summary: "Run a live query",
        params: namespacePath,
        headers: tokenHeader,
        body: callSchema,
        response: { 200: outcomeAnswer },
      },
      handler: async (request, reply) => {
        const done = await live.query(callOf(request), undefined, readToken(request), clientSignal(reply));
        return { ...outcomeJson(done.outcome), tick: done.tick, logs: done.logs };
      },
    },
    {
      method: "POST",
      url: "/v1/namespaces/:ns/live/mutate",
      access: "write",
      tag: "live",
      schema: {
        summary: "Run a live mutation",
        params: namespacePath,
        body: callSchema,
        response: { 200: outcomeAnswer },
      },
      handler: async (request, reply) => {
        const call = callOf(request);
        if (administrative.has(call.function)) {
          request.act = call.function;
          authorize(call.principal, needs.adminIn(call.namespace));
        }
        const done = await live.mutate(call, { requestId: "" });
        sendToken(reply, live.token(call.namespace, done.tick));
        return { ...outcomeJson(done.outcome), tick: done.tick, logs: done.logs };
      },
    },
  ];
}

function namespaceOf(request: FastifyRequest): string {
  return (request.params as { ns: string }).ns;
}

function callOf(request: FastifyRequest) {
  const { function: name, args } = request.body as CallBody;
  const principal = request.principal ?? devLoopback;
  return { namespace: namespaceOf(request), function: name, args: args ?? {}, principal };
}

function outcomeJson(outcome: Outcome): object {
  if (outcome.kind === "value") return { value: outcome.value };
  const { kind, message, data } = outcome.fault;
  return { error: { kind, message, ...(data === undefined ? {} : { data }) } };
}
