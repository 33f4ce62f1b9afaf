import type { IncomingHttpHeaders } from "node:http";
import type { Principal } from "../../engine/auth/principal.ts";
import { type EngineError, unavailable } from "../../engine/errors.ts";
import type { Authenticator } from "./authenticator.ts";

/** What is known of who sends a request, before more than its head is read. */
export interface Caller {
  readonly method: string | undefined;
  /** `Host`, or `:authority`. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
}

/** Of a request in either of Node's forms. */
export function callerOf(request: {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined; readonly remotePort?: number | undefined };
}): Caller {
  const { method, headers, socket } = request;
  return {
    method,
    host: (headers[":authority"] as string | undefined) ?? headers.host,
    origin: headers.origin,
    authorization: headers.authorization,
    remoteAddress: socket.remoteAddress,
    remotePort: socket.remotePort,
  };
}

export interface Entrance {
  /** Why a request is refused before anyone asks who makes it. */
  screen(caller: Caller): EngineError | undefined;
  authenticate: Authenticator["authenticate"];
  isDraining(): boolean;
}

/**
 * Lets a request in or throws, in the one order that all edges keep: where it comes from, whether the server still takes work, who
 * asks, and what `decide` checks of them. Without it the request is open to everybody who comes from where they may. A promise where
 * somebody has to be asked.
 */
export function admit(
  entrance: Entrance,
  caller: Caller,
  decide: ((principal: Principal) => void) | undefined,
): Promise<void> | undefined {
  const refused = entrance.screen(caller);
  if (refused !== undefined) throw refused;
  if (decide === undefined) return undefined;
  if (entrance.isDraining()) throw unavailable("the server is draining");
  const found = entrance.authenticate(caller);
  if (found instanceof Promise) return found.then(decide);
  decide(found);
  return undefined;
}
