import {
  Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { type Duplex, pipeline, type Readable, type Writable } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import type { AnyRequest, AnyResponse } from "../../listener/registry.ts";
import { refuseUnavailable } from "./refusal.ts";

/** Names the node that has passed a request on: it is not passed on again. */
export const forwardedHeader = "service-forwarded-by";
/** Which port the request came to, where it was not the main one. */
export const portHeader = "service-forwarded-port";
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
/** A listener takes no more at once on one connection. */
const streamsMax = 200;

/** What this edge uses of the responses of both HTTP versions, whose own types do not go together. */
interface Answering extends Writable {
  readonly headersSent: boolean;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  addTrailers(headers: OutgoingHttpHeaders): void;
}

export interface ProxyOptions {
  /** This node's name. */
  readonly node: string;
  /** The nodes talk TLS to each other where their main ports do. */
  readonly tls?: SecureContextOptions | undefined;
}

/** Passes requests on to the owner, as streams, in the HTTP version in which they came. */
export class OwnerProxy {
  readonly #options: ProxyOptions;
  readonly #agent: Agent;
  readonly #sessions = new Map<string, Set<{ session: ClientHttp2Session; streams: number }>>();

  constructor(options: ProxyOptions) {
    this.#options = options;
    const pool = { keepAlive: true, maxSockets: socketsMax };
    this.#agent = options.tls === undefined ? new Agent(pool) : new TlsAgent({ ...pool, ...options.tls });
  }

  close(): void {
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
    this.#exchange(request, response, outgoing, () => outgoing.destroy());
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
      pipeline(outgoing as Readable, response, ignore);
    });
    this.#exchange(request, response, outgoing, () => outgoing.close());
  }

  /** The body goes out as it comes; what breaks before the answer is told, and after it ends the answer. */
  #exchange(request: AnyRequest, response: Answering, outgoing: Writable, leave: () => void): void {
    outgoing.on("error", () => {
      if (response.headersSent) response.destroy();
      else refuseUnavailable(request, response as unknown as AnyResponse, "the owner can't be reached; retry");
    });
    response.once("close", leave);
    request.on("error", leave);
    (request as Readable).pipe(outgoing);
  }

  /** The bytes of a SQL wire, both ways. Throws where the owner can't be reached. */
  pipe(address: string, wire: string): Duplex {
    return this.#stream(address, {
      ":method": "POST",
      ":path": `${pipePath}${wire}`,
      [forwardedHeader]: this.#options.node,
    });
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
  const kept: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":") || hopHeaders.has(name) || named.has(name)) continue;
    kept[name] = value;
  }
  return kept;
}

function ignore(): void {}
