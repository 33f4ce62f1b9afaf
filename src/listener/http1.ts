import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { continueHttp1 } from "./continue.ts";
import { rawAnswer } from "./raw-answer.ts";
import { type Connection, type Registry, refuse } from "./registry.ts";
import { WriteStall } from "./write-stall.ts";

const kConnection = Symbol("http1 connection");

/** The connection hangs on its socket: a property is cheaper to reach from a request than any map. */
interface TrackedSocket extends Socket {
  [kConnection]?: Http1Connection;
}

/** The inner HTTP/1 server. It never listens: sockets are handed to it. */
export function createHttp1(registry: Registry): Server {
  const { limits } = registry;
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    // Ours instead (see sweep): Node's would also cut a request whose answer has begun.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: limits.sweepIntervalMs,
    maxHeaderSize: limits.headerBytesMax,
    // Checked in onRequest, so that the refusal has a body.
    requireHostHeader: false,
  });
  server.maxHeadersCount = limits.headersMax;
  // Else a peer that closes its half once it has sent its request gets no answer that takes a moment.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  server.on("request", onRequest);
  server.on("checkContinue", onContinue);
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    refuse(response, 417, "invalid_argument", "only 100-continue is supported", "expect");
  });
  server.on("connect", (_request: IncomingMessage, socket: TrackedSocket) => {
    socket[kConnection]?.answerAndClose(405, "CONNECT is not supported", "method");
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: TrackedSocket) => {
    const connection = socket[kConnection];
    if (connection === undefined) socket.destroy();
    else connection.onClientError(error);
  });
  // Node starts to look for expired headers when the server listens, which this one never does.
  server.emit("listening");
  return server;
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  (request.socket as TrackedSocket)[kConnection]!.begin(request, response);
}

function onContinue(request: IncomingMessage, response: ServerResponse): void {
  const connection = (request.socket as TrackedSocket)[kConnection]!;
  continueHttp1(request, response);
  connection.begin(request, response);
}

/** Hot path: one listener per request, shared by all, and no closure. */
function onResponseClose(this: ServerResponse): void {
  (this.req.socket as TrackedSocket)[kConnection]!.finish(this);
}

/** Takes the request deadline off; false where the request is not HTTP/1. */
export function liftHttp1Deadline(request: IncomingMessage): boolean {
  const connection = (request.socket as TrackedSocket)[kConnection];
  if (connection === undefined) return false;
  connection.lift(request);
  return true;
}

export class Http1Connection implements Connection {
  readonly #registry: Registry;
  readonly #socket: TrackedSocket;
  readonly #stall: WriteStall;
  /** The newest request, until both it and its answer are complete. */
  #request: IncomingMessage | undefined;
  /** The answer to it, until it is complete. */
  #response: ServerResponse | undefined;
  #inFlight = 0;
  /** Of those in flight, the ones that the handler has not seen yet; made when a peer pipelines that much. */
  #held: [IncomingMessage, ServerResponse][] | undefined;
  #receivingSinceMs = 0;
  #lifted = false;
  #closingSinceMs = 0;
  /** The peer has closed its half: it may have gone, or be waiting for its answer. */
  #peerDoneSinceMs = 0;
  /** An answer to what came after the requests in flight, and could not be read. */
  #lastWords: string | undefined;
  #brokenSinceMs = 0;
  /** The answer to the request whose body could not be read. */
  #broken: ServerResponse | undefined;

  /** The first request runs in this turn. */
  #hasTurn: boolean;

  constructor(registry: Registry, server: Server, socket: Socket, hasTurn = false) {
    this.#registry = registry;
    this.#socket = socket;
    this.#hasTurn = hasTurn;
    this.#stall = new WriteStall(socket);
    this.#socket[kConnection] = this;
    registry.connections.add(this);
    socket.once("close", () => this.#onClose());
    socket.once("end", () => {
      this.#peerDoneSinceMs = registry.nowMs;
    });
    // Node ends a connection this way after its last answer, even while the peer is still sending that request.
    const destroySoon = socket.destroySoon;
    socket.destroySoon = () => {
      if (this.#request?.complete === false) this.#linger();
      else destroySoon.call(socket);
    };
    server.emit("connection", socket);
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    const registry = this.#registry;
    this.#request = request;
    this.#response = response;
    this.#receivingSinceMs = 0;
    this.#lifted = false;
    if (registry.draining) response.shouldKeepAlive = false;
    if (request.headers.host === undefined && request.httpVersionMinor === 1) {
      response.shouldKeepAlive = false;
      refuse(response, 400, "invalid_argument", "the header is missing", "host");
      return;
    }
    if (this.#inFlight === registry.limits.pipelinedMax) {
      registry.counters.flooded++;
      this.#socket.destroy();
      return;
    }
    this.#inFlight++;
    registry.inFlight++;
    response.on("close", onResponseClose);
    if (this.#inFlight <= registry.limits.pipelinedHandledMax) {
      if (this.#hasTurn) registry.handleNow(request, response);
      else registry.handle(request, response);
      this.#hasTurn = false;
      return;
    }
    this.#held ??= [];
    this.#held.push([request, response]);
  }

  finish(response: ServerResponse): void {
    // After the socket's own close everything was counted out at once: Node raises no 'close' for pipelined answers.
    if (this.#inFlight === 0) return;
    this.#inFlight--;
    if (this.#broken === response) this.#lastWords = "";
    if (this.#response === response) this.#response = undefined;
    if (this.#request === response.req && response.req.complete) this.#request = undefined;
    if (this.#registry.draining && this.#inFlight === 0) this.#socket.destroySoon();
    this.#registry.ended(1);
    const next = this.#held?.shift();
    if (next !== undefined) this.#registry.handle(...next);
    if (this.#lastWords !== undefined && (this.#inFlight === 0 || this.#canAnswer())) this.#linger(this.#lastWords);
  }

  lift(request: IncomingMessage): void {
    if (this.#request === request) this.#lifted = true;
  }

  onClientError(error: NodeJS.ErrnoException): void {
    const { counters, limits } = this.#registry;
    // From the first fault on, everything that still arrives is an error to the parser and none to us.
    if (this.#closingSinceMs !== 0 || this.#lastWords !== undefined) return;
    switch (error.code) {
      case "ERR_HTTP_REQUEST_TIMEOUT":
        counters.timedOut++;
        this.answerAndClose(408, `did not arrive within ${limits.headersTimeoutMs} ms`, "headers");
        break;
      case "HPE_HEADER_OVERFLOW":
        counters.malformed++;
        this.answerAndClose(431, `exceed ${limits.headerBytesMax} bytes or ${limits.headersMax} fields`, "headers");
        break;
      case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
        counters.malformed++;
        this.answerAndClose(413, "its chunk extensions are too large", "body");
        break;
      case "HPE_INVALID_METHOD":
        counters.malformed++;
        if (isRequestLine(error)) this.answerAndClose(405, "is not one that is served here", "method");
        else this.answerAndClose(400, "is not valid HTTP/1.1", "request");
        break;
      default:
        if (error.code?.startsWith("HPE_")) {
          counters.malformed++;
          this.answerAndClose(400, "is not valid HTTP/1.1", "request");
        } else {
          this.#socket.destroy();
        }
    }
  }

  /** Answers in place of the handler where the peer can tell what the answer is to, and closes. */
  answerAndClose(status: number, message: string, field: string): void {
    const socket = this.#socket;
    if (this.#closingSinceMs !== 0 || this.#lastWords !== undefined) return;
    const lastWords = rawAnswer(status, message, field);
    if (!socket.writable) socket.destroy();
    else if (this.#canAnswer()) this.#linger(lastWords);
    else if (this.#inFlight > 0) this.#breakAfterAnswers(lastWords);
    else socket.destroy();
  }

  /** Requests before the fault are answered first; one whose own body is at fault may have been answered already. */
  #breakAfterAnswers(lastWords: string): void {
    const isInBody = this.#request?.complete === false;
    const isAnswered = this.#response === undefined || this.#response.headersSent;
    this.#broken = isInBody ? this.#response : undefined;
    this.#lastWords = isInBody && isAnswered ? "" : lastWords;
    this.#brokenSinceMs = this.#registry.nowMs;
  }

  /** Closes our half and discards what still comes: a reset because of unread bytes would take the answer with it. */
  #linger(lastWords = ""): void {
    this.#closingSinceMs = this.#registry.nowMs;
    this.#socket.end(lastWords);
    this.#socket.resume();
  }

  #canAnswer(): boolean {
    const request = this.#request;
    const response = this.#response;
    // No answer is owed: the fault is in the request now arriving, unless that one was answered already.
    if (response === undefined) return this.#inFlight === 0 && (request === undefined || request.complete);
    return this.#inFlight === 1 && !response.headersSent && !response.req.complete;
  }

  sweep(): void {
    const { limits, counters, nowMs } = this.#registry;
    if (this.#closingSinceMs !== 0) {
      if (nowMs - this.#closingSinceMs >= limits.lingerMs) this.#socket.destroy();
      return;
    }
    // One that has gone would be found out only by writing to it, and a long poll has nothing to write.
    const isDone = this.#peerDoneSinceMs !== 0 && nowMs - this.#peerDoneSinceMs >= limits.lingerMs;
    if (isDone && this.#socket.writableLength === 0) {
      this.#socket.destroy();
      return;
    }
    // What nobody can read any more keeps no answer waiting for longer than a body may take.
    if (this.#lastWords !== undefined && nowMs - this.#brokenSinceMs >= limits.requestTimeoutMs) {
      this.#socket.destroy();
      return;
    }
    if (this.#request !== undefined && this.#receivingMs(nowMs, this.#request) >= limits.requestTimeoutMs) {
      counters.timedOut++;
      this.answerAndClose(408, `did not arrive within ${limits.requestTimeoutMs} ms`, "body");
      return;
    }
    const stall = this.#stall;
    if (stall.stalledMs(nowMs, stall.pending, stall.bytesWritten) >= limits.writeStallTimeoutMs) {
      counters.stalled++;
      this.#socket.destroy();
    }
  }

  /** How long the body has been arriving, as seen by the sweep: requests that come and go between two cost no clock. */
  #receivingMs(nowMs: number, request: IncomingMessage): number {
    const response = this.#response;
    if (request.complete) {
      if (response === undefined) this.#request = undefined;
      return 0;
    }
    if (this.#lifted || (response?.headersSent === true && !response.writableEnded)) {
      this.#receivingSinceMs = 0;
      return 0;
    }
    if (this.#receivingSinceMs === 0) this.#receivingSinceMs = nowMs;
    return nowMs - this.#receivingSinceMs;
  }

  /** Idle connections are closed by the server itself (closeIdleConnections): only it knows of half a request. */
  drain(): void {
    if (this.#response !== undefined && !this.#response.headersSent) this.#response.shouldKeepAlive = false;
  }

  end(): void {
    this.#socket.destroySoon();
  }

  #onClose(): void {
    this.#registry.connections.delete(this);
    const left = this.#inFlight;
    this.#inFlight = 0;
    this.#held = undefined;
    this.#request = undefined;
    this.#response = undefined;
    this.#registry.ended(left);
  }
}

interface ParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** As much of a request line as tells that it is one. */
const requestLineStart = 128;

/** The parser knows the registered methods alone; any other token is a method as well, only no one's here. */
function isRequestLine({ rawPacket, bytesParsed = 0 }: ParseError): boolean {
  if (rawPacket === undefined) return false;
  // Requests before it may have come in the same packet.
  const start = rawPacket.lastIndexOf("\n", bytesParsed) + 1;
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64} [/*h]/.test(rawPacket.toString("latin1", start, start + requestLineStart));
}
