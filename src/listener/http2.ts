import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { continueHttp2 } from "./continue.ts";
import { type Connection, type Registry, refuse } from "./registry.ts";
import { WriteStall } from "./write-stall.ts";

const kConnection = Symbol("http2 connection");
const MiB = 1024 * 1024;

interface TrackedSession extends ServerHttp2Session {
  [kConnection]?: Http2Connection;
}
interface TrackedStream extends ServerHttp2Stream {
  [kConnection]?: Http2Connection;
}

/** In place of the time since when a request's body arrives: it is here, or may take as long as it likes. */
const received = -1;
const unseen = 0;

/** The inner HTTP/2 server. It never listens: sockets are handed to it. */
export function createHttp2(registry: Registry): Http2Server {
  const { limits } = registry;
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.http2StreamsMax,
      initialWindowSize: limits.http2StreamWindowBytes,
      maxHeaderListSize: limits.headerBytesMax,
      enablePush: false,
    },
    maxHeaderListPairs: limits.headersMax,
    maxSessionMemory: Math.ceil(limits.http2SessionMemoryBytesMax / MiB),
    maxSessionInvalidFrames: limits.http2InvalidFramesMax,
    maxSessionRejectedStreams: limits.http2RejectedStreamsMax,
    streamResetBurst: limits.http2ResetsBurstMax,
    streamResetRate: limits.http2ResetsPerSecondMax,
  });
  server.on("request", onRequest);
  server.on("checkContinue", (request: Http2ServerRequest, response: Http2ServerResponse) => {
    continueHttp2(request, response);
    onRequest(request, response);
  });
  server.on("checkExpectation", (_request: Http2ServerRequest, response: Http2ServerResponse) => {
    refuse(response, 417, "invalid_argument", "only 100-continue is supported", "expect");
  });
  server.on("connect", (_request: Http2ServerRequest, response: Http2ServerResponse) => {
    refuse(response, 405, "invalid_argument", "CONNECT is not supported", "method");
  });
  server.on("sessionError", () => {
    registry.counters.malformed++;
  });
  return server;
}

function onRequest(request: Http2ServerRequest, response: Http2ServerResponse): void {
  const stream: TrackedStream = request.stream;
  // The request is raised a tick after its frame: a peer may have taken it back in the meantime.
  if (stream.destroyed) return;
  (stream.session as TrackedSession | undefined)?.[kConnection]?.begin(stream, request, response);
}

/**
 * A request that was answered before all of it came: the rest is read and dropped. Node would reset the stream instead, and
 * a client that still sends often takes that for a failure and never looks at the answer.
 */
function onAnswered(this: TrackedStream): void {
  if (!this.readableEnded) this[kConnection]!.answered(this);
}

/** Names and values, which stand for the request line too. */
function headBytes(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (let i = 0; i < rawHeaders.length; i++) bytes += rawHeaders[i]!.length;
  return bytes;
}

function onStreamClose(this: TrackedStream): void {
  this[kConnection]!.finish(this);
}

/** Takes the request deadline off; false where the request is not HTTP/2. */
export function liftHttp2Deadline(request: Http2ServerRequest): boolean {
  const stream: TrackedStream = request.stream;
  const connection = stream[kConnection];
  if (connection === undefined) return false;
  connection.lift(stream);
  return true;
}

export class Http2Connection implements Connection {
  readonly #registry: Registry;
  readonly #socket: Socket;
  readonly #stall: WriteStall;
  #session: ServerHttp2Session | undefined;
  /** Requests in flight, each with the time since when its body arrives. */
  readonly #streams = new Map<TrackedStream, number>();
  readonly #openedMs: number;
  #greeted = false;
  #idleSinceMs = 0;
  #closingSinceMs = 0;
  #windowStartMs = 0;
  #pings = 0;
  #settings = 0;

  constructor(registry: Registry, server: Http2Server, socket: Socket) {
    this.#registry = registry;
    this.#openedMs = registry.nowMs;
    this.#socket = socket;
    this.#stall = new WriteStall(socket);
    registry.connections.add(this);
    // HTTP/2 has no half-closed connections: left open, one whose peer has gone would hold its requests for ever.
    socket.allowHalfOpen = false;
    socket.once("close", () => this.#onClose());
    server.once("session", (session: TrackedSession) => this.#adopt(session));
    // Raises 'session' before it returns.
    server.emit("connection", socket);
  }

  #adopt(session: TrackedSession): void {
    const { limits } = this.#registry;
    this.#session = session;
    session[kConnection] = this;
    session.setLocalWindowSize(limits.http2SessionWindowBytes);
    session.on("remoteSettings", () => {
      this.#greeted = true;
      if (++this.#settings > limits.http2SettingsPerSecondMax) this.#flooded();
    });
    session.on("ping", () => {
      if (++this.#pings > limits.http2PingsPerSecondMax) this.#flooded();
    });
  }

  begin(stream: TrackedStream, request: Http2ServerRequest, response: Http2ServerResponse): void {
    const registry = this.#registry;
    stream[kConnection] = this;
    stream.on("close", onStreamClose);
    if (!stream.endAfterHeaders) stream.on("prefinish", onAnswered);
    this.#streams.set(stream, stream.endAfterHeaders ? received : unseen);
    this.#idleSinceMs = 0;
    registry.inFlight++;
    const { headerBytesMax, headersMax } = registry.limits;
    // Node keeps this bound only once the peer has acknowledged it; until then its library takes twice as much.
    if (headBytes(request.rawHeaders) > headerBytesMax) {
      registry.counters.malformed++;
      refuse(response, 431, "invalid_argument", `exceed ${headerBytesMax} bytes or ${headersMax} fields`, "headers");
    } else registry.handle(request, response);
    if (registry.draining) this.drain();
  }

  finish(stream: TrackedStream): void {
    if (this.#streams.delete(stream)) this.#registry.ended(1);
  }

  /** What still comes of the request has as long as a body may take, from the next sweep on. */
  answered(stream: TrackedStream): void {
    if (!this.#streams.has(stream) || this.#registry.draining) return;
    this.#streams.set(stream, unseen);
    if (stream.readableFlowing === null) stream.resume();
  }

  lift(stream: TrackedStream): void {
    if (this.#streams.has(stream)) this.#streams.set(stream, received);
  }

  sweep(): void {
    const { limits, counters, nowMs } = this.#registry;
    const session = this.#session;
    if (session === undefined || session.destroyed) {
      // The session has said goodbye; a peer that keeps its end open does not keep ours.
      if (this.#closingSinceMs === 0) this.#closingSinceMs = nowMs;
      if (nowMs - this.#closingSinceMs >= limits.lingerMs) this.#socket.destroy();
      return;
    }
    if (!this.#greeted && nowMs - this.#openedMs >= limits.headersTimeoutMs) {
      counters.timedOut++;
      this.#socket.destroy();
      return;
    }
    if (nowMs - this.#windowStartMs >= 1_000) {
      this.#windowStartMs = nowMs;
      this.#pings = 0;
      this.#settings = 0;
    }
    const streamsPending = this.#sweepStreams(nowMs);
    this.#sweepIdle(nowMs, session);
    const pending = streamsPending || this.#stall.pending;
    // PINGs are bytes too: only the window tells whether the peer takes data.
    const sent = pending ? (session.state.remoteWindowSize ?? 0) : 0;
    if (this.#stall.stalledMs(nowMs, pending, sent) >= limits.writeStallTimeoutMs) {
      counters.stalled++;
      this.#socket.destroy();
    }
  }

  /** Cancels requests whose body is late; true if any has data waiting to be sent. */
  #sweepStreams(nowMs: number): boolean {
    const { limits, counters } = this.#registry;
    let pending = false;
    for (const [stream, since] of this.#streams) {
      if (stream.writableLength > 0) pending = true;
      if (since === received) continue;
      if (since === unseen) {
        this.#streams.set(stream, nowMs);
      } else if ((stream.headersSent && !stream.writableEnded) || stream.state.remoteClose === 1) {
        this.#streams.set(stream, received);
      } else if (nowMs - since >= limits.requestTimeoutMs) {
        counters.timedOut++;
        stream.close(stream.headersSent ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
      }
    }
    return pending;
  }

  /** Counts from the last request's end, whatever else arrives: half a header block keeps nothing open. */
  #sweepIdle(nowMs: number, session: ServerHttp2Session): void {
    if (this.#streams.size > 0) return;
    if (this.#idleSinceMs === 0) this.#idleSinceMs = nowMs;
    if (nowMs - this.#idleSinceMs >= this.#registry.limits.idleTimeoutMs) session.close();
  }

  #flooded(): void {
    const session = this.#session;
    if (session === undefined || session.destroyed) return;
    this.#registry.counters.flooded++;
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /**
   * Sends GOAWAY with the last request taken; the session ends with the last answer. A request that crosses it is
   * beyond that number, so its client knows that it was not looked at. (The gentler notice that refuses nothing yet
   * is not offered by Node: after any GOAWAY its HTTP/2 library ignores new requests.)
   */
  drain(): void {
    this.#session?.close();
  }

  end(): void {
    const session = this.#session;
    if (session === undefined || session.destroyed) this.#socket.destroySoon();
    else session.close();
  }

  #onClose(): void {
    this.#registry.connections.delete(this);
    const left = this.#streams.size;
    this.#streams.clear();
    this.#registry.ended(left);
  }
}
