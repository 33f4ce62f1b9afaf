import { fromJson, type JsonObject, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Principal } from "../../engine/auth/principal.ts";
import { invalid } from "../../engine/errors.ts";
import type { FunctionFault } from "../../engine/live/fault.ts";
import type { CallRequest } from "../../engine/live/live.ts";
import type { DeployedFunction } from "../../engine/live/live-meta.ts";
import type { At } from "../../engine/live/queries.ts";
import type { Outcome } from "../../engine/live/run.ts";
import type { SessionEvent, SessionVersion, StateChange } from "../../engine/live/session.ts";
import type { QueryResult } from "../../engine/live/subscriptions.ts";
import type { LiveObject, LiveValue } from "../../engine/live/value.ts";
import type {
  AddQuery,
  At as AtMessage,
  Call,
  StateModificationSchema,
  WatchResponseSchema,
} from "../../gen/service/live/v1/live_pb.ts";
import { toCount } from "./request.ts";

export function timestampOf(micros: number) {
  const seconds = Math.floor(micros / 1_000_000);
  return { seconds: BigInt(seconds), nanos: (micros - seconds * 1_000_000) * 1_000 };
}

function microsOf(field: string, { seconds, nanos }: Timestamp): number {
  const micros = Number(seconds) * 1_000_000 + Math.floor(nanos / 1_000);
  if (!Number.isSafeInteger(micros) || micros < 0) throw invalid(field, "is no time that can be");
  return micros;
}

export function atOf(message: AtMessage | undefined): At | undefined {
  const at = message?.at;
  if (at === undefined || at.case === undefined) return undefined;
  if (at.case === "tick") return { tick: toCount("at.tick", at.value) };
  return { micros: microsOf("at.timestamp", at.value) };
}

export function callOf(namespace: string, principal: Principal, call: Call | undefined, field = "call"): CallRequest {
  if (call === undefined || call.function === "") throw invalid(`${field}.function`, "is required");
  return { namespace, principal, function: call.function, args: (call.args ?? {}) as LiveObject };
}

export function queryOf(namespace: string, principal: Principal, query: AddQuery, field: string) {
  const { queryId, knownDigest } = query;
  return { queryId, knownDigest, call: callOf(namespace, principal, query.call, `${field}.call`) };
}

function valueMessage(value: LiveValue): Value {
  return fromJson(ValueSchema, value as JsonValue);
}

function errorMessage({ kind, message, data }: FunctionFault) {
  return { kind, message, ...(data === undefined ? {} : { data: valueMessage(data) }) };
}

export function outcomeMessage(outcome: Outcome) {
  if (outcome.kind === "value") return { case: "value", value: valueMessage(outcome.value) } as const;
  return { case: "error", value: errorMessage(outcome.fault) } as const;
}

export function functionMessage({ name, kind, args, returns }: DeployedFunction) {
  return {
    name,
    kind,
    ...(args === undefined ? {} : { args: args as unknown as JsonObject }),
    ...(returns === undefined ? {} : { returns: returns as unknown as JsonObject }),
  };
}

function versionMessage({ tick, micros, querySet }: SessionVersion) {
  return { tick: BigInt(tick), timestamp: timestampOf(micros), querySet };
}

/** A result that many sessions show is made a message once. */
const values = new WeakMap<QueryResult, Value>();

function sharedValue(result: QueryResult, value: LiveValue): Value {
  const known = values.get(result);
  if (known !== undefined) return known;
  const message = valueMessage(value);
  values.set(result, message);
  return message;
}

function changeMessage(change: StateChange): MessageInitShape<typeof StateModificationSchema> {
  const { queryId } = change;
  if (change.kind === "removed") return { modification: { case: "removed", value: queryId } };
  const { result, unchanged } = change;
  const { outcome, digest, logs } = result;
  if (outcome.kind === "error") {
    return { modification: { case: "failed", value: { queryId, error: errorMessage(outcome.fault) } } };
  }
  const shown = unchanged ? { unchanged } : { value: sharedValue(result, outcome.value) };
  return { modification: { case: "updated", value: { queryId, digest, logs: [...logs], ...shown } } };
}

export interface SessionHead {
  readonly id: string;
  readonly heartbeatMs: number;
}

export function eventMessage(event: SessionEvent, session: SessionHead): MessageInitShape<typeof WatchResponseSchema> {
  switch (event.kind) {
    case "opened": {
      const { id: sessionId, heartbeatMs } = session;
      return { event: { case: "opened", value: { sessionId, heartbeatMs, version: versionMessage(event.version) } } };
    }
    case "heartbeat":
      return { event: { case: "heartbeat", value: { tick: BigInt(event.tick) } } };
    case "transition": {
      const startVersion = versionMessage(event.start);
      const endVersion = versionMessage(event.end);
      const modifications = event.changes.map(changeMessage);
      return { event: { case: "transition", value: { startVersion, endVersion, modifications } } };
    }
  }
}
