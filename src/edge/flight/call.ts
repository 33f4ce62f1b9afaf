import type { HandlerContext } from "@connectrpc/connect";
import { authorize, needs, seesNamespace } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { invalid, notFound } from "../../engine/errors.ts";
import { parseName } from "../../engine/ids.ts";
import { type ConsistencyToken, emptyToken, formatToken, parseToken } from "../../engine/token.ts";
import { flightLimits } from "./limits.ts";
import { namespaceIn } from "./namespace.ts";

const tokenHeader = "Service-Consistency-Token";

/** What the headers of a call say. */
export interface FlightCall {
  readonly principal: Principal;
  /** Where the header `namespace`, or `database`, names one. */
  readonly namespace: string | undefined;
  readonly token: ConsistencyToken;
  readonly consistency: "strong" | "eventual";
  /** Whether instants are sent with their zone. */
  readonly timestamps: "utc" | "local";
  readonly signal: AbortSignal;
}

export function readCall(context: HandlerContext, principal: Principal): FlightCall {
  const { requestHeader: headers, signal } = context;
  const header = headers.get("namespace") ?? headers.get("database");
  const namespace = header === null || header === "" ? undefined : parseName("namespace", header);
  // Before anything else is looked at: what a call is refused for tells nothing of a namespace it may not see.
  if (namespace !== undefined) authorize(principal, needs.readIn(namespace));
  const token = headers.get(tokenHeader);
  const consistency = headers.get("consistency") ?? "strong";
  if (consistency !== "strong" && consistency !== "eventual") {
    throw invalid("consistency", "must be strong or eventual");
  }
  const timestamps = headers.get("timestamps") ?? "utc";
  if (timestamps !== "utc" && timestamps !== "local") throw invalid("timestamps", "must be utc or local");
  return {
    principal,
    namespace,
    timestamps,
    token: token === null ? emptyToken : parseToken(tokenHeader, token),
    consistency,
    signal,
  };
}

/** A token of very many partitions is left out: a head that the client finds too large would end the call. */
export function sendToken(context: HandlerContext, token: ConsistencyToken): void {
  const text = formatToken(token);
  if (text.length <= flightLimits.tokenCharactersMax) context.responseHeader.set(tokenHeader, text);
}

/** The namespaces that a call may ask about, by their names. */
export function namespacesOf({ principal, namespace }: FlightCall, all: Iterable<string>): string[] {
  const visible = [...all].filter((each) => seesNamespace(principal, each)).sort();
  if (namespace === undefined) return visible;
  if (!visible.includes(namespace)) throw notFound(`namespace ${namespace} does not exist`);
  return [namespace];
}

/** The namespace of a statement, which the caller may read. */
export function namespaceOf(call: FlightCall, query: string, all: Iterable<string>): string {
  const { namespaces } = call.principal;
  const own = call.namespace ?? (namespaces?.length === 1 ? namespaces[0] : undefined);
  if (own !== undefined) return own;
  const names = [...all].filter((each) => seesNamespace(call.principal, each));
  const namespace = namespaceIn(query, names) ?? names.sort()[0];
  if (namespace === undefined) throw invalid("namespace", "there is none yet");
  authorize(call.principal, needs.readIn(namespace));
  return namespace;
}

/** The namespace of a ticket: its bearer may differ from who asked for it, and is authorised again. */
export function ticketNamespace(call: FlightCall, name: string): string {
  const namespace = parseName("ticket", name);
  authorize(call.principal, needs.readIn(namespace));
  if (call.namespace !== undefined && call.namespace !== namespace) {
    throw invalid("namespace", "is another than that of the ticket");
  }
  return namespace;
}
