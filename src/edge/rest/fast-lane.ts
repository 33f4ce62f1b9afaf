import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { shortRequests } from "../../engine/turns.ts";
import type { FastHead } from "../../listener/fast-head.ts";
import { bodyLength, type FastHandler, type FastReply, fastLimits } from "../../listener/fast-lane.ts";
import { admit, type Entrance } from "../auth/entrance.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import { countRoute, documentRoute, documentsRoute } from "./documents/fast.ts";
import { errorReply, toEngineError } from "./error.ts";
import { eventsRoute } from "./events/fast.ts";
import type { Answer, FastRoute, FastWork, LaneRequest } from "./fast-route.ts";
import { probeRoutes } from "./instance/operations.ts";
import type { RestOptions } from "./options.ts";
import { queryFastRoute } from "./query/fast.ts";
import { appendRoute, fetchRoute } from "./records/fast.ts";
import { checkAccess, clientGone } from "./route.ts";

export interface FastLane {
  /** Requests that the listener has read whole. */
  readonly fast: FastHandler;
  /** The same requests on a connection that Node's server reads. */
  readonly plain: (request: IncomingMessage, response: ServerResponse) => boolean;
}

interface Entry {
  readonly route: FastRoute;
  readonly count: (status: number, ms: number) => void;
}

type RequestLine = Pick<FastHead, "target"> & { readonly method: string };

interface Serving {
  readonly entry: Entry;
  readonly request: LaneRequest;
  readonly reply: FastReply;
  readonly startedMs: number;
}

/**
 * The requests of HTTP/1 that come by the thousand: small appends, events, writes and reads of documents, fetches,
 * counts and queries; and those that ask whether the server is up, when there are thousands.
 * The same checks in the same order, by the same functions, as on the way through the router, but without its objects,
 * hooks and streams. What it does not take goes the ordinary way.
 */
export function createFastLane(options: RestOptions, entrance: Entrance, answers: ByteBudget): FastLane {
  const lane = new Lane(options, entrance, answers);
  return {
    fast: ({ head, body, remoteAddress, remotePort }, reply) => {
      const { headers, rawHeaders } = head;
      const request = { headers, rawHeaders, remoteAddress, remotePort };
      return lane.take(head, request, reply, (then) => then(body));
    },
    plain: (request, response) => {
      const { headers, rawHeaders, method = "", url = "" } = request;
      if (request.httpVersionMajor !== 1 || headers["transfer-encoding"] !== undefined) return false;
      if (Number(headers["content-length"] ?? 0) > fastLimits.bodyBytesMax) return false;
      const { remoteAddress, remotePort } = request.socket;
      const received = { headers, rawHeaders, remoteAddress, remotePort };
      return lane.take({ method, target: url }, received, replyBy(response), (then) => readBody(request, then));
    },
  };
}

class Lane {
  readonly #options: RestOptions;
  readonly #entrance: Entrance;
  readonly #entries: Readonly<Record<string, readonly Entry[]>>;

  constructor(options: RestOptions, entrance: Entrance, answers: ByteBudget) {
    this.#options = options;
    this.#entrance = entrance;
    const { engine, metrics } = options;
    const entry = (route: FastRoute): Entry => ({ route, count: metrics.counterOf(route.url, route.method) });
    this.#entries = {
      POST: [
        ...[appendRoute, eventsRoute, documentsRoute, countRoute].map((route) => entry(route(engine))),
        entry(queryFastRoute(engine, answers)),
      ],
      GET: [fetchRoute(engine), documentRoute(engine), ...probeRoutes(engine)].map(entry),
    };
  }

  take(
    line: RequestLine,
    request: LaneRequest,
    reply: FastReply,
    body: (then: (bytes: Buffer) => void) => void,
  ): boolean {
    const entries = this.#entries[line.method];
    // The ordinary way refuses encodings.
    if (entries === undefined || request.headers["content-encoding"] !== undefined) return false;
    for (const entry of entries) {
      const work = entry.route.match(line.target, request.headers);
      if (work === undefined) continue;
      if (entry.route.isShort) shortRequests.came();
      this.#serve({ entry, request: request, reply, startedMs: performance.now() }, work, body);
      return true;
    }
    return false;
  }

  #serve(serving: Serving, work: FastWork, body: (then: (bytes: Buffer) => void) => void): void {
    const answer = () => body((bytes) => this.#answer(serving, work, bytes));
    let admitted: Promise<void> | undefined;
    try {
      admitted = this.#admit(serving, work.namespace);
    } catch (error) {
      this.#fail(serving, error);
      return;
    }
    if (admitted === undefined) answer();
    else admitted.then(answer, (error: unknown) => this.#fail(serving, error));
  }

  #admit({ entry, request }: Serving, namespace: string): Promise<void> | undefined {
    const { method, access } = entry.route;
    const { headers, remoteAddress, remotePort } = request;
    const { host, origin, authorization } = headers as Readonly<Record<string, string | undefined>>;
    const caller = { method, host, origin, authorization, remoteAddress, remotePort };
    if (access === "open") return admit(this.#entrance, caller, undefined);
    const { quotas } = this.#options.engine;
    return admit(this.#entrance, caller, (principal) => checkAccess(principal, access, namespace, quotas));
  }

  #answer(serving: Serving, work: FastWork, body: Buffer): void {
    const fail = (error: unknown) => this.#fail(serving, error);
    try {
      const answered = work.run(serving.request, body, () => signalOf(serving.reply));
      answered.then((answer) => {
        try {
          this.#send(serving, answer);
        } catch (error) {
          fail(error);
        }
      }, fail);
    } catch (error) {
      fail(error);
    }
  }

  #send(serving: Serving, { headers, body, onSent }: Answer): void {
    const all = this.#headers(serving);
    for (let i = 0; i < headers.length; i++) all.push(headers[i]!);
    serving.reply.send(200, all, body, onSent);
    this.#count(serving, 200);
  }

  /** What every answer carries. */
  #headers({ request }: Serving): string[] {
    return ["x-request-id", this.#options.requestId(request), "content-type", "application/json; charset=utf-8"];
  }

  #fail(serving: Serving, thrown: unknown): void {
    const { log } = this.#options;
    const error = toEngineError(thrown);
    const { status, headers, body } = errorReply(error);
    const all = this.#headers(serving);
    const id = all[1]!;
    // A client that has left is why its request was stopped; that is not worth a line.
    if (status === 500 || (status === 503 && serving.reply.isOpen)) {
      log[status === 500 ? "error" : "warn"]({ reqId: id, err: error.cause ?? error }, error.message);
    }
    for (const [name, value] of Object.entries(headers)) all.push(name, value);
    const text = JSON.stringify(status === 500 ? { ...body, request_id: id } : body);
    serving.reply.send(status, all, Buffer.from(text));
    this.#count(serving, status);
  }

  #count({ entry, startedMs }: Serving, status: number): void {
    entry.count(status, performance.now() - startedMs);
  }
}

function signalOf(reply: FastReply): AbortSignal {
  const controller = new AbortController();
  reply.onLeft(() => controller.abort(clientGone));
  return controller.signal;
}

function readBody(request: IncomingMessage, then: (body: Buffer) => void): void {
  let body: Buffer | undefined;
  request.on("data", (chunk: Buffer) => {
    body = body === undefined ? chunk : Buffer.concat([body, chunk]);
  });
  request.on("end", () => then(body ?? Buffer.alloc(0)));
}

function replyBy(response: ServerResponse): FastReply {
  return {
    get isOpen() {
      return !response.destroyed;
    },
    onLeft: (callback) => {
      response.once("close", () => {
        if (!response.writableFinished) callback();
      });
    },
    send: (status, headers, body, onSent) => {
      assert(!response.headersSent, "a request is answered once");
      response.writeHead(status, [...headers, "content-length", String(bodyLength(body))]);
      if (onSent !== undefined) response.once("close", onSent);
      if (typeof body === "string" || Buffer.isBuffer(body)) response.end(body, "latin1");
      else response.end(Buffer.concat(body));
    },
  };
}
