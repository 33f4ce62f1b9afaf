import type { EngineError } from "../../engine/errors.ts";
import { toEngineError } from "./error.ts";

/** A request as both ways into the lane have it. */
export interface LaneRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
}

/** Headers, names and values alternating, and the body, maybe in parts; a body of text is ASCII. */
export interface Answer {
  readonly headers: readonly string[];
  readonly body: string | Buffer | readonly Buffer[];
  /** Called once the body has been handed to the operating system, or nobody wants it any more. */
  readonly onSent?: () => void;
}

/** One request, checked as far as its head goes. */
export interface FastWork {
  /** Empty where the route is open to everyone. */
  readonly namespace: string;
  run(request: LaneRequest, body: Buffer, signal: () => AbortSignal): Promise<Answer>;
}

/** A kind of request that the lane takes. */
export interface FastRoute {
  readonly method: "GET" | "POST";
  /** As the router and the metrics name it. */
  readonly url: string;
  readonly access: "read" | "write" | "open";
  /** Whether its requests are answered at once and by no other thread, so that work that can wait makes room for them. */
  readonly isShort: boolean;
  /** Undefined where the request, or something about it, is left to the ordinary way. */
  match(target: string, headers: LaneRequest["headers"]): FastWork | undefined;
}

/** A name in a path as the API defines it; anything else, escapes too, is the router's business. */
export const namePattern = "([A-Za-z0-9][A-Za-z0-9._-]{0,127})";

/** What the router would report of a body that failed its check. */
export function bodyFault(checked: unknown): EngineError {
  return toEngineError({ validation: (checked as { error?: unknown }).error, validationContext: "body" });
}

/** What a node of a cluster has looked at by now. */
export const consistencyPattern = "consistency=(?:eventual|strong)";

/** A read with a token may have to wait, and an event stream never ends: neither is in a hurry. */
export function isPlain(headers: LaneRequest["headers"]): boolean {
  const { accept, "service-consistency-token": token } = headers;
  return token === undefined && (accept === undefined || !/text\/(?:event-stream|\*)/i.test(String(accept)));
}

/** Paths whose parts are remembered. */
const placesKeptMax = 20_000;

/** The parts of a text, taken apart once. Forgotten all at once when full: an order would cost each request more than a miss. */
export function remembered<T>(parse: (target: string) => T | undefined): (target: string) => T | undefined {
  const places = new Map<string, T>();
  return (target) => {
    const known = places.get(target);
    if (known !== undefined) return known;
    const place = parse(target);
    if (place === undefined) return undefined;
    if (places.size >= placesKeptMax) places.clear();
    places.set(target, place);
    return place;
  };
}
