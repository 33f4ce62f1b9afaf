import {
  Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { type ClientHttp2Session, connect, constants, type ServerHttp2Stream } from "node:http2";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { type Duplex, pipeline, type Readable, type Writable } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import type { AnyRequest, AnyResponse } from "../../listener/registry.ts";
import { refuseUnavailable } from "./refusal.ts";

/** Names the node that has passed a request on: it is not passed on again. */
export const forwardedHeader = "service-forwarded-by";
/** Which port the request came to, where it was not the main one. */
export const portHeader = "service-forwarded-port";
/** Where the client of a SQL wire is, whose bytes another node passes on. */
export const clientHeader = "service-forwarded-for";
/** Carries the bytes of a SQL wire. */
export const pipePath = "/.cluster/pipe/";

/** Meant for one hop only, or framing the body anew. */
const hopHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
  forwardedHeader,
  portHeader,
]);

const socketsMax = 4_096;
const connectMs = 2_000;
/** How often it is looked whether the owner has changed, and how long an earlier one has to finish what it was asked. */
const lookMs = 250;
const abandonMs = 1_000;
/** A listener takes no more at once on one connection. */
const streamsMax = 200;

/** What this edge uses of the responses of both HTTP versions, whose own types do not go together. */
interface Answering extends Writable {
  readonly headersSent: boolean;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  addTrailers(headers: OutgoingHttpHeaders): void;
}

/** What is passed on to a node. */
interface Exchange {
  readonly address: string;
  /** Since when that node is not the owner any more. */
  sinceMs: number | undefined;
  end(): void;
}

export interface ProxyOptions {
  /** This node's name. */
  readonly node: string;
  /** Where the owner is, as far as this node knows. */
  readonly owner: () => string | undefined;
  /** The nodes talk TLS to each other where their main ports do. */
  readonly tls?: SecureContextOptions | undefined;
}

/** Passes requests on to the owner, as streams, in the HTTP version in which they came. */
export class OwnerProxy {
  readonly #options: ProxyOptions;
  readonly #agent: Agent;
  readonly #exchanges = new Set<Exchange>();
  readonly #timer: NodeJS.Timeout;
  readonly #sessions = new Map<string, Set<{ session: ClientHttp2Session; streams: number }>>();

  constructor(options: ProxyOptions) {
    this.#options = options;
    const pool = { keepAlive: true, maxSockets: socketsMax };
    this.#timer = setInterval(() => this.#look(), lookMs).unref();
    this.#agent = options.tls === undefined ? new Agent(pool) : new TlsAgent({ ...pool, ...options.tls });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
    for (const sessions of this.#sessions.values()) for (const { session } of sessions) session.destroy();
  }

  forward(address: string, request: AnyRequest, response: AnyResponse, port?: string): void {
    const extra = { [forwardedHeader]: this.#options.node, ...(port !== undefined && { [portHeader]: port }) };
    const answer = response as unknown as Answering;
    if ("stream" in request) this.#forwardHttp2(address, request, answer, extra);
    else this.#forwardHttp1(address, request, answer, extra);
  }

  #forwardHttp1(address: string, request: IncomingMessage, response: Answering, extra: OutgoingHttpHeaders): void {
    const { hostname, port } = new URL(`http://${address}`);
    const send = this.#options.tls === undefined ? httpRequest : httpsRequest;
    const outgoing = send({
      host: hostname.replace(/^\[|\]$/g, ""),
      port,
      agent: this.#agent,
      method: request.method ?? "GET",
      path: request.url ?? "/",
      headers: { ...passedOn(request.headers), ...extra },
    });
    outgoing.once("socket", (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => outgoing.destroy(new Error("connect time-out")), connectMs);
      socket.once("connect", () => clearTimeout(timer));
      socket.once("close", () => clearTimeout(timer));
    });
    outgoing.once("response", (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, passedOn(incoming.headers));
      pipeline(incoming, response, ignore);
    });
    this.#exchange(address, request, response, outgoing, () => outgoing.destroy());
  }

  #forwardHttp2(address: string, request: AnyRequest, response: Answering, extra: OutgoingHttpHeaders): void {
    let outgoing: ReturnType<ClientHttp2Session["request"]>;
    try {
      outgoing = this.#stream(address, {
        ...passedOn(request.headers),
        ...extra,
        te: "trailers",
        ":method": request.method ?? "POST",
        ":path": request.url ?? "/",
        ":authority": request.headers[":authority"] ?? request.headers.host ?? address,
      });
    } catch {
      refuseUnavailable(request, response as unknown as AnyResponse, "the owner can't be reached; retry");
      return;
    }
    outgoing.once("response", (headers) => {
      response.writeHead(headers[":status"] ?? 502, passedOn(headers));
      outgoing.once("trailers", (trailers) => response.addTrailers(passedOn(trailers)));
      // Where the owner dies its streams end without an error; the answer must not look whole.
      outgoing.pipe(response, { end: false });
      outgoing.once("end", () => {
        if (!outgoing.rstCode) response.end();
      });
    });
    const fail = this.#exchange(address, request, response, outgoing, () => outgoing.close());
    outgoing.once("close", () => {
      if (outgoing.rstCode) fail();
    });
  }

  /** The body goes out as it comes; what breaks before the answer is told, and after it ends the answer. */
  #exchange(
    address: string,
    request: AnyRequest,
    response: Answering,
    outgoing: Writable,
    leave: () => void,
  ): () => void {
    const fail = () => {
      if (response.headersSent) cutOff(response);
      else refuseUnavailable(request, response as unknown as AnyResponse, "the owner can't be reached; retry");
    };
    const exchange: Exchange = {
      address,
      sinceMs: undefined,
      end: () => {
        fail();
        leave();
      },
    };
    this.#exchanges.add(exchange);
    outgoing.on("error", fail);
    response.once("close", () => {
      this.#exchanges.delete(exchange);
      leave();
    });
    request.on("error", leave);
    (request as Readable).pipe(outgoing);
    return fail;
  }

  /** The bytes of a SQL wire, both ways; undefined where the owner does not take them. */
  pipe(address: string, wire: string, client: string, take: (server: Duplex | undefined) => void): void {
    let stream: ReturnType<ClientHttp2Session["request"]>;
    try {
      stream = this.#stream(address, {
        ":method": "POST",
        ":path": `${pipePath}${wire}`,
        [forwardedHeader]: this.#options.node,
        [clientHeader]: client,
      });
    } catch {
      take(undefined);
      return;
    }
    const exchange: Exchange = { address, sinceMs: undefined, end: () => stream.destroy() };
    this.#exchanges.add(exchange);
    let isTaken = false;
    const once = (server: Duplex | undefined) => {
      if (!isTaken) take(server);
      isTaken = true;
    };
    stream.on("error", ignore);
    stream.once("response", (headers) => once(headers[":status"] === 200 ? stream : undefined));
    stream.once("close", () => {
      this.#exchanges.delete(exchange);
      once(undefined);
    });
  }

  /** Ends what waits for a node that is no longer the owner and does not say so itself, as one that is frozen. */
  #look(): void {
    const nowMs = performance.now();
    for (const exchange of this.#exchanges) {
      const isOwner = exchange.address === this.#options.owner();
      exchange.sinceMs = isOwner ? undefined : (exchange.sinceMs ?? nowMs);
      if (exchange.sinceMs !== undefined && nowMs - exchange.sinceMs >= abandonMs) exchange.end();
    }
  }

  #stream(address: string, headers: OutgoingHttpHeaders): ReturnType<ClientHttp2Session["request"]> {
    const entry = this.#session(address);
    const stream = entry.session.request(headers);
    entry.streams++;
    stream.once("close", () => entry.streams--);
    return stream;
  }

  #session(address: string): { session: ClientHttp2Session; streams: number } {
    let sessions = this.#sessions.get(address);
    if (sessions === undefined) {
      sessions = new Set();
      this.#sessions.set(address, sessions);
    }
    for (const each of sessions) {
      if (each.streams < streamsMax && !each.session.closed && !each.session.destroyed) return each;
    }
    const scheme = this.#options.tls === undefined ? "http" : "https";
    const session = connect(`${scheme}://${address}`, { ...this.#options.tls });
    const entry = { session, streams: 0 };
    const all = sessions;
    all.add(entry);
    const timer = setTimeout(() => session.destroy(new Error("connect time-out")), connectMs);
    session.once("connect", () => clearTimeout(timer));
    session.once("close", () => {
      clearTimeout(timer);
      all.delete(entry);
      if (all.size === 0 && this.#sessions.get(address) === all) this.#sessions.delete(address);
    });
    // Each stream hears of it on its own.
    session.on("error", ignore);
    session.unref();
    return entry;
  }
}

function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const forwarded: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":") || hopHeaders.has(name) || named.has(name)) continue;
    forwarded[name] = value;
  }
  return forwarded;
}

/** An answer that has begun ends so that its reader knows that it is not whole. */
function cutOff(response: Answering): void {
  const { stream } = response as { stream?: ServerHttp2Stream };
  if (stream === undefined) response.destroy();
  else stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

function ignore(): void {}
