import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import type { Readable, Writable } from "node:stream";
import { EngineError, invalid, unavailable } from "../../engine/errors.ts";
import { deadlineMs } from "./deadline.ts";
import { rpcLimits } from "./limits.ts";
import { header, isGone, type NodeRequest, type NodeResponse } from "./node.ts";
import { deadlineError } from "./request.ts";
import { drained, type ExtraHeaders, protocolOf } from "./respond.ts";

/** Meant for one hop only, or frames the body anew. */
const hopHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "host",
  "expect",
]);

/**
 * What proves to us who the caller is, and what a front end may take for a proxy's word on it. Told by parts of their
 * names: each proxy and each provider has its own.
 */
const identityHeaders =
  /auth|cookie|api-?key|token|secret|forwarded|^via$|real-ip|client|caller|actor|behalf|claim|verif|cert|upn|-dn$|remote|user|principal|identity|account|email|group|role|tenant|impersonat|ssl|tailscale|original|rewrite|override|jwt|assertion|oidc|saml|consumer|credential|subject|session|login|scope|permission|admin|owner|^x-(?:sub|uid|host|org.*|http-method)$/;
const plainHeaders: ReadonlySet<string> = new Set(["user-agent", "x-user-agent"]);

const methodPath = /^\/service\.house\.[\w.]+\/\w+$/;

export function isHousePath(path: string): boolean {
  return path.startsWith("/service.house.");
}

type Fields = Record<string, string | string[]>;

function passedOn(headers: IncomingHttpHeaders): Fields {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const forwarded: Fields = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":") || name.startsWith("access-control-")) continue;
    if (hopHeaders.has(name) || named.has(name)) continue;
    if (identityHeaders.test(name) && !plainHeaders.has(name)) continue;
    forwarded[name] = value;
  }
  return forwarded;
}

/** A GET is asked by its path alone: what came behind it as a body would reach the front end as a request of its own. */
function checkMethod(request: NodeRequest): void {
  if (request.method === "POST") return;
  if (request.method !== "GET") throw new EngineError("not_implemented", "method not allowed: use POST or GET");
  const { "transfer-encoding": encoding, "content-length": length } = request.headers;
  if (encoding !== undefined || (length !== undefined && length !== "0")) {
    throw invalid("body", "a GET has none");
  }
}

/** The front end's answer, whichever HTTP version brought it. */
interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  trailers(): Fields;
}

interface Exchange {
  readonly outgoing: Writable;
  readonly answer: Promise<Answer>;
}

/** Hands the calls of the house package to their front end, without the caller's credentials. */
export class HouseProxy {
  readonly #base: URL;
  readonly #agent: Agent;
  #session: ClientHttp2Session | undefined;
  #open = 0;

  constructor(address: string) {
    this.#base = new URL(address);
    const options = { keepAlive: true, maxSockets: rpcLimits.houseRequestsMax };
    this.#agent = this.#base.protocol === "https:" ? new TlsAgent(options) : new Agent(options);
  }

  close(): void {
    this.#agent.destroy();
    this.#session?.destroy();
  }

  /** Resolves when the answer is written. Rejects with a reason as long as none of it has been. */
  async forward(request: NodeRequest, response: NodeResponse, path: string, extra: ExtraHeaders): Promise<void> {
    if (!methodPath.test(path)) throw new EngineError("not_implemented", "no such method");
    checkMethod(request);
    if (this.#open >= rpcLimits.houseRequestsMax) {
      throw new EngineError("resource_exhausted", "too many calls to the house service", { retryAfterMs: 1000 });
    }
    this.#open++;
    try {
      await this.#relay(request, response, path, extra);
    } finally {
      this.#open--;
    }
  }

  async #relay(request: NodeRequest, response: NodeResponse, path: string, extra: ExtraHeaders): Promise<void> {
    const target = this.#base.pathname.replace(/\/$/, "") + path;
    // gRPC needs HTTP/2 for its trailers; the other protocols are happy with what every server speaks.
    const grpc = protocolOf(header(request, "content-type")) === "grpc";
    const { outgoing, answer: answered } = this.#call(grpc, request, target);
    const deadline = deadlineMs(request);
    const wait = Math.min(rpcLimits.houseFirstByteMsMax, deadline ?? Number.POSITIVE_INFINITY);
    const late = deadline === wait ? deadlineError() : unavailable("the house service does not answer");
    const timer = setTimeout(() => outgoing.destroy(late), wait);
    const leave = () => outgoing.destroy();
    response.on("close", leave);
    if (request.method === "POST") request.pipe(outgoing);
    else outgoing.end();
    let answer: Answer;
    try {
      answer = await answered;
    } catch (error) {
      throw error instanceof EngineError ? error : unavailable("the house service can't be reached", error);
    } finally {
      clearTimeout(timer);
    }
    await copy(answer, request, response, extra);
    response.off("close", leave);
  }

  #call(grpc: boolean, request: NodeRequest, path: string): Exchange {
    try {
      return grpc ? this.#callHttp2(request, path) : this.#callHttp1(request, path);
    } catch (error) {
      throw unavailable("the house service can't be reached", error);
    }
  }

  #callHttp1(request: NodeRequest, path: string): Exchange {
    const send = this.#base.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = send({
      hostname: this.#base.hostname.replace(/^\[|\]$/g, ""),
      port: this.#base.port,
      agent: this.#agent,
      method: request.method ?? "POST",
      path,
      headers: passedOn(request.headers),
      timeout: rpcLimits.houseIdleMsMax,
    });
    outgoing.on("timeout", () => outgoing.destroy(unavailable("the house service fell silent")));
    connectWithin(outgoing);
    const answer = new Promise<Answer>((resolve, reject) => {
      outgoing.on("response", (body: IncomingMessage) => {
        const trailers = () => passedOn(body.trailers);
        resolve({ status: body.statusCode ?? 502, headers: body.headers, body, trailers });
      });
      outgoing.on("error", reject);
      outgoing.on("close", () => reject(unavailable("the house service closed the connection")));
    });
    return { outgoing, answer };
  }

  #callHttp2(request: NodeRequest, path: string): Exchange {
    const session = this.#http2Session();
    const outgoing: ClientHttp2Stream = session.request({
      ...passedOn(request.headers),
      te: "trailers",
      ":method": request.method ?? "POST",
      ":path": path,
    });
    outgoing.setTimeout(rpcLimits.houseIdleMsMax, () => outgoing.destroy(unavailable("the house service fell silent")));
    let trailers: Fields = {};
    outgoing.on("trailers", (headers) => {
      trailers = passedOn(headers);
    });
    const answer = new Promise<Answer>((resolve, reject) => {
      outgoing.on("response", (headers) => {
        resolve({ status: headers[":status"] ?? 502, headers, body: outgoing, trailers: () => trailers });
      });
      outgoing.on("error", reject);
      outgoing.on("close", () => reject(unavailable("the house service closed the connection")));
    });
    return { outgoing, answer };
  }

  #http2Session(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const session = connect(this.#base.origin);
    const timer = setTimeout(() => session.destroy(new Error("connect time-out")), rpcLimits.houseConnectMsMax);
    session.once("connect", () => clearTimeout(timer));
    session.once("close", () => clearTimeout(timer));
    // Each stream hears of it on its own.
    session.on("error", () => undefined);
    session.unref();
    this.#session = session;
    return session;
  }
}

function connectWithin(outgoing: ReturnType<typeof httpRequest>): void {
  outgoing.once("socket", (socket) => {
    if (!socket.connecting) return;
    const error = unavailable("the house service can't be reached");
    const timer = setTimeout(() => outgoing.destroy(error), rpcLimits.houseConnectMsMax);
    const stop = () => clearTimeout(timer);
    socket.once("connect", stop);
    socket.once("close", stop);
  });
}

async function copy(answer: Answer, request: NodeRequest, response: NodeResponse, extra: ExtraHeaders): Promise<void> {
  response.writeHead(answer.status, { ...passedOn(answer.headers), ...extra });
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    if (isGone(request)) return;
    if (!response.write(chunk)) await drained(request, response);
  }
  if (isGone(request)) return;
  const trailers = answer.trailers() as Record<string, string>;
  if (Object.keys(trailers).length > 0) response.addTrailers(trailers);
  response.end();
}
