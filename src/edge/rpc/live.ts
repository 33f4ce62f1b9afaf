import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { authorize, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError, invalid } from "../../engine/errors.ts";
import { administrative } from "../../engine/live/builtins.ts";
import type { Live } from "../../engine/live/live.ts";
import type { LiveObject } from "../../engine/live/value.ts";
import { LiveService, type ModifyQuerySetRequest, type WatchRequest } from "../../gen/service/live/v1/live_pb.ts";
import { admitRequest, callKey, principalOf } from "./call.ts";
import { eventLaneKey, withEventLane } from "./live-lane.ts";
import { atOf, callOf, eventMessage, functionMessage, outcomeMessage, queryOf, timestampOf } from "./live-message.ts";
import type { ServedService } from "./options.ts";
import { checkWanted, readToken, sendToken, toCount } from "./request.ts";
import { served } from "./router.ts";

function callerOf(context: HandlerContext): Principal {
  const principal = principalOf(context.values);
  if (principal === undefined) throw new EngineError("unauthenticated", "no credential");
  return principal;
}

function changesOf({ namespace, modifications }: ModifyQuerySetRequest, principal: Principal) {
  return modifications.map(({ modification }, i) => {
    const field = `modifications[${i}]`;
    if (modification.case === "remove") return { kind: "remove", queryId: modification.value } as const;
    if (modification.case === undefined) throw invalid(field, "must add or remove a query");
    return { kind: "add", query: queryOf(namespace, principal, modification.value, `${field}.add`) } as const;
  });
}

/** Ends with the session. The message of a stream comes after admission of its caller, so it is authorised here. */
async function* watchEvents(live: Live, heartbeatMs: number, request: WatchRequest, context: HandlerContext) {
  const principal = callerOf(context);
  const { namespace } = request;
  authorize(principal, needs.readIn(namespace));
  admitRequest(context.values, namespace);
  const queries = request.queries.map((each, i) => queryOf(namespace, principal, each, `queries[${i}]`));
  const minTick = toCount("min_tick", request.minTick);
  const session = await live.watch({ namespace, principal, minTick }, queries, context.signal);
  try {
    const head = { id: session.id, heartbeatMs };
    const next = () => session.next(context.signal);
    yield eventMessage(await next(), head);
    const lane = context.values.get(eventLaneKey);
    if (lane === undefined) throw new Error("a session without its lane");
    await lane.serve(head, next);
  } finally {
    live.close(session);
  }
}

function implementation(live: Live, heartbeatMs: number): Partial<ServiceImpl<typeof LiveService>> {
  return {
    async query(request, context) {
      const call = callOf(request.namespace, callerOf(context), request.call);
      const answer = await live.query(call, atOf(request.at), readToken(context), context.signal);
      sendToken(context, live.token(request.namespace, answer.tick));
      return {
        outcome: outcomeMessage(answer.outcome),
        tick: BigInt(answer.tick),
        timestamp: timestampOf(answer.micros),
        logs: [...answer.logs],
      };
    },

    async mutate(request, context) {
      const principal = callerOf(context);
      const call = callOf(request.namespace, principal, request.call);
      if (administrative.has(call.function)) {
        context.values.get(callKey)!.act = call.function;
        authorize(principal, needs.adminIn(request.namespace));
      }
      checkWanted(context);
      const done = await live.mutate(call, { requestId: request.requestId });
      sendToken(context, live.token(request.namespace, done.tick));
      return {
        outcome: outcomeMessage(done.outcome),
        tick: BigInt(done.tick),
        commitTimestamp: timestampOf(done.micros),
        replayed: done.replayed,
        logs: [...done.logs],
      };
    },

    async deploy(request) {
      const { namespace, modules, schema, dryRun, allowDrops } = request;
      const expectedVersion = toCount("expected_version", request.expectedVersion);
      const object = schema as LiveObject | undefined;
      const done = await live.deploy(namespace, { modules, schema: object, expectedVersion, dryRun, allowDrops });
      return {
        version: BigInt(done.version),
        tick: BigInt(done.tick),
        functions: done.functions.map(functionMessage),
        changes: [...done.changes],
      };
    },

    watch: (request, context) => watchEvents(live, heartbeatMs, request, context),

    modifyQuerySet(request, context) {
      const principal = callerOf(context);
      const { namespace, sessionId } = request;
      const changes = changesOf(request, principal);
      const versions = { base: request.baseVersion, next: request.newVersion };
      return { version: live.modifyQuerySet({ namespace, principal, sessionId }, versions, changes) };
    },
  };
}

export function liveService(live: Live, heartbeatMs: number): ServedService {
  return {
    ...served(LiveService, implementation(live, heartbeatMs)),
    around: (handler) => (handler.method.name === "Watch" ? withEventLane(handler) : handler),
  };
}
