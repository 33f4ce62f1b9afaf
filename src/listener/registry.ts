import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { ListenerLimits } from "./limits.ts";
import { Turn } from "./turn.ts";

export type AnyRequest = IncomingMessage | Http2ServerRequest;
export type AnyResponse = ServerResponse | Http2ServerResponse;
export type Handler = (request: AnyRequest, response: AnyResponse) => void;

/** The part of a pino logger that is used here. */
export interface ListenerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What happened since the start; each only grows. */
export interface ListenerCounters {
  accepted: number;
  /** Closed at once because of `connectionsMax`. */
  refused: number;
  /** Cut off by the sniff, TLS, header or request deadline. */
  timedOut: number;
  /** Cut off because the peer took none of the waiting data. */
  stalled: number;
  /** HTTP that could not be parsed, and headers over their bound. */
  malformed: number;
  /** Cut off for too many pipelined requests, PINGs or SETTINGS. */
  flooded: number;
  /** Requests refused because of `requestsMax`. */
  overloaded: number;
  /** TLS handshakes that failed. */
  handshakesFailed: number;
}

/** A connection whose protocol is known, or not yet. */
export interface Connection {
  /** Cuts the connection off if one of its deadlines has passed. */
  sweep(): void;
  /** Has a request whose head has come counted as being in flight, where it is not yet. */
  settle?(): void;
  /** Tells the peer to send no further request here, and closes if there is none in flight. */
  drain(): void;
  /** Closes once what was written is on its way. */
  end(): void;
}

/** What the connections of one listener share. Requests in flight are counted here and nowhere else. */
export class Registry {
  readonly limits: ListenerLimits;
  readonly log: ListenerLog;
  readonly handler: Handler;
  readonly connections = new Set<Connection>();
  readonly counters: ListenerCounters = {
    accepted: 0,
    refused: 0,
    timedOut: 0,
    stalled: 0,
    malformed: 0,
    flooded: 0,
    overloaded: 0,
    handshakesFailed: 0,
  };
  readonly turn: Turn;
  inFlight = 0;
  draining = false;
  /**
   * The time by which deadlines are kept. It moves with the sweep and never jumps: while the process was held up its
   * peers could not be heard, and what they sent meanwhile must not be held against them.
   */
  nowMs = 1;
  /** Called each time the last request in flight has ended. */
  onIdle: (() => void) | undefined;

  constructor(limits: ListenerLimits, log: ListenerLog, handler: Handler) {
    this.limits = limits;
    this.turn = new Turn(limits);
    this.log = log;
    this.handler = handler;
  }

  sweep(elapsedMs: number): void {
    this.nowMs += Math.min(elapsedMs, 2 * this.limits.sweepIntervalMs);
    for (const connection of this.connections) connection.sweep();
  }

  /** Whether requests that come now have to wait for the next turn of the event loop. */
  get isTurnOver(): boolean {
    const { turnBoundFrom } = this.limits;
    return (this.inFlight >= turnBoundFrom || this.connections.size >= turnBoundFrom) && this.turn.isOver;
  }

  ended(requests: number): void {
    if (requests === 0) return;
    this.inFlight -= requests;
    assert(this.inFlight >= 0, "a request ends once");
    if (this.inFlight === 0) this.onIdle?.();
  }

  /** Runs the handler, now or when there is time. */
  handle(request: AnyRequest, response: AnyResponse): void {
    if (!this.isTurnOver || isProbe(request.url)) this.handleNow(request, response);
    else {
      this.turn.wait(() => {
        if (!response.destroyed && !request.socket.destroyed) this.handleNow(request, response);
      }, 0);
    }
  }

  /** What the handler throws is its bug, answered as `internal`, and never reaches the process. */
  handleNow(request: AnyRequest, response: AnyResponse): void {
    if (this.inFlight > this.limits.requestsMax && !isProbe(request.url)) {
      this.counters.overloaded++;
      response.setHeader("retry-after", "1");
      refuse(response, 503, "unavailable", "too many requests are in flight; retry");
      return;
    }
    try {
      this.handler(request, response);
    } catch (error) {
      this.log.error({ err: error, method: request.method }, "request handler threw");
      if (response.headersSent) response.destroy();
      else refuse(response, 500, "internal", "internal error");
    }
  }
}

/** Health probes are answered however busy the process is. */
const probes: readonly (string | undefined)[] = ["/health", "/ready"];

function isProbe(target: string | undefined): boolean {
  return probes.includes(target);
}

/** Whether bytes begin a request for one. */
export function isProbeStart(bytes: Buffer): boolean {
  // Told to take more than there is, it throws.
  const start = bytes.latin1Slice(0, Math.min(12, bytes.length));
  return probes.some((target) => start.startsWith(`GET ${target} `));
}

/** Of all paths together: where a method is refused, its path was not looked at. */
export const servedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/** `field` is what is at fault in the request, and stands before the message, as everywhere in the API. */
export function errorBody(error: string, message: string, field?: string): string {
  return JSON.stringify(field === undefined ? { error, message } : { error, message: `${field}: ${message}`, field });
}

export function refuse(response: AnyResponse, status: number, error: string, message: string, field?: string): void {
  const body = errorBody(error, message, field);
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  response.setHeader("content-length", Buffer.byteLength(body));
  if (status === 405) response.setHeader("allow", servedMethods);
  (response as ServerResponse).end(body);
}
