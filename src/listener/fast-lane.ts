import assert from "node:assert/strict";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastHead } from "./fast-head.ts";
import { type FoundHead, type KnownHead, readHead } from "./known-head.ts";
import { rawAnswer } from "./raw-answer.ts";
import { type Connection, errorBody, isProbeStart, type Registry } from "./registry.ts";
import { WriteStall } from "./write-stall.ts";

export interface FastRequest {
  readonly head: FastHead;
  readonly body: Buffer;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
}

export interface FastReply {
  /** False once nobody waits for the answer. */
  readonly isOpen: boolean;
  /** Called when the client leaves before it was answered. */
  onLeft(callback: () => void): void;
  /**
   * `headers` alternates names and values; a body of text is ASCII, others may come in parts. `onSent` is called once
   * the body's memory is no longer needed.
   */
  send(status: number, headers: readonly string[], body: FastBody, onSent?: () => void): void;
}

export type FastBody = string | Buffer | readonly Buffer[];

/** Answers a request, at once or later; or returns false at once, and the request goes the ordinary way. */
export type FastHandler = (request: FastRequest, reply: FastReply) => boolean;

export const fastLimits = {
  headBytesMax: 8 * 1024,
  bodyBytesMax: 64 * 1024,
  /** Answers that a client has not taken when its next request comes. */
  unsentBytesMax: 256 * 1024,
  /** Half-received requests of all connections together; beyond it they go the ordinary way, which has bounds of its own. */
  partialBytesMax: 64 * 1024 * 1024,
  /** A request that is still not whole after this part of the headers' deadline is left to the full parser and its deadlines. */
  partialShare: 0.2,
} as const;

const nothing = Buffer.alloc(0);

/** What the fast connections of one listener share. */
export class FastLane {
  readonly registry: Registry;
  readonly handler: FastHandler;
  /** Hands a connection to the full parser, with what was read of it put back, and whether that has waited already. */
  readonly leave: (socket: Socket, hasTurn: boolean) => void;
  partialBytes = 0;
  readonly #keepAlive: string;
  #dateText = "";
  #dateSecond = 0;

  constructor(registry: Registry, handler: FastHandler, leave: (socket: Socket, hasTurn: boolean) => void) {
    this.registry = registry;
    this.handler = handler;
    this.leave = leave;
    const seconds = Math.floor(registry.limits.idleTimeoutMs / 1000);
    this.#keepAlive = `connection: keep-alive\r\nkeep-alive: timeout=${seconds}`;
  }

  /** Everything before an answer's body. */
  head(status: number, headers: readonly string[], last: boolean, bodyBytes: number): string {
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.#dateSecond) {
      this.#dateSecond = second;
      this.#dateText = new Date(second * 1000).toUTCString();
    }
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
    const connection = last ? "connection: close" : this.#keepAlive;
    return `${text}date: ${this.#dateText}\r\n${connection}\r\ncontent-length: ${bodyBytes}\r\n\r\n`;
  }
}

/**
 * A connection with the requests that come by the thousand: each arrives whole, one at a time, in the usual form, for a
 * route that the handler knows. Node's server spends more on the objects of such a request than the request itself costs;
 * here it is a search for the end of the head, and the parsed head is cached, since clients repeat it. At the first other
 * request the connection moves to Node's server for good.
 */
export class FastConnection implements Connection, FastReply {
  readonly #lane: FastLane;
  readonly #socket: Socket;
  readonly #stall: WriteStall;
  readonly #onData = (chunk: Buffer) => this.#take(chunk);
  readonly #onEnd = () => this.#ended();
  readonly #onClose = () => this.#closed();
  /** What was received of a request that is not yet whole. */
  #partial: Buffer = nothing;
  /** Bytes after which looking at `partial` again makes sense. */
  #wanted = 0;
  #partialSinceMs = 0;
  #idleSinceMs: number;
  #busy = false;
  #peerDone = false;
  /** What comes now has waited for this turn already. */
  #hasTurn = false;
  /** More was sent before the answer. */
  #pipelined = false;
  #onLeft: (() => void) | undefined;
  #known: KnownHead | undefined;

  constructor(lane: FastLane, socket: Socket) {
    this.#lane = lane;
    this.#socket = socket;
    this.#stall = new WriteStall(socket);
    this.#idleSinceMs = lane.registry.nowMs;
    lane.registry.connections.add(this);
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("close", this.#onClose);
  }

  get isOpen(): boolean {
    return this.#busy && !this.#socket.destroyed;
  }

  onLeft(callback: () => void): void {
    this.#onLeft = callback;
  }

  send(status: number, headers: readonly string[], body: FastBody, onSent?: () => void): void {
    if (!this.isOpen) {
      onSent?.();
      return;
    }
    const socket = this.#socket;
    const { registry } = this.#lane;
    const last = registry.draining || this.#peerDone;
    const start = this.#lane.head(status, headers, last, bodyLength(body));
    if (typeof body === "string") socket.write(start + body, "latin1", onSent);
    else {
      const parts = Buffer.isBuffer(body) ? [body] : body;
      socket.cork();
      socket.write(start, "latin1");
      for (let i = 0; i < parts.length; i++) socket.write(parts[i]!, i === parts.length - 1 ? onSent : undefined);
      socket.uncork();
    }
    this.#busy = false;
    this.#onLeft = undefined;
    this.#idleSinceMs = registry.nowMs;
    if (last) socket.destroySoon();
    else if (this.#pipelined) this.#leave(nothing);
    registry.ended(1);
  }

  sweep(): void {
    const { limits, counters, nowMs } = this.#lane.registry;
    const stall = this.#stall;
    if (stall.stalledMs(nowMs, stall.pending, stall.bytesWritten) >= limits.writeStallTimeoutMs) {
      counters.stalled++;
      this.#socket.destroy();
    } else if (this.#busy) return;
    else if (this.#partial.length > 0) {
      if (nowMs - this.#partialSinceMs >= limits.headersTimeoutMs * fastLimits.partialShare) this.#leave(this.#partial);
    } else if (nowMs - this.#idleSinceMs >= limits.idleTimeoutMs) this.#socket.destroySoon();
  }

  settle(): void {
    if (!this.#busy && this.#partial.length > 0 && this.#findHead(this.#partial) !== undefined)
      this.#leave(this.#partial);
  }

  drain(): void {
    if (this.#busy) return;
    if (this.#partial.length > 0) this.#leave(this.#partial);
    else this.#socket.destroySoon();
  }

  end(): void {
    this.#socket.destroySoon();
  }

  #take(chunk: Buffer): void {
    if (this.#busy) {
      // The client did not wait for its answer: what it sends meanwhile goes the ordinary way after it. Put back at
      // once, or its end could be heard before it.
      this.#pipelined = true;
      this.#socket.pause();
      this.#socket.unshift(chunk);
      return;
    }
    if (!this.#hasTurn && this.#lane.registry.isTurnOver && !isProbeStart(chunk)) this.#wait(chunk);
    else this.#receive(chunk);
  }

  /** In flight already, so that nobody takes the connection for idle. */
  #wait(chunk: Buffer): void {
    const { registry } = this.#lane;
    this.#busy = true;
    registry.inFlight++;
    this.#socket.pause();
    // Here too: what is held elsewhere would let its end be heard first.
    this.#socket.unshift(chunk);
    registry.turn.wait(() => {
      if (!this.#busy) return;
      this.#busy = false;
      this.#hasTurn = true;
      this.#socket.resume();
      // Raises 'data' before it returns.
      this.#socket.read();
      this.#hasTurn = false;
      registry.ended(1);
    }, chunk.length);
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#partial.length > 0 ? Buffer.concat([this.#partial, chunk]) : chunk;
    if (bytes.length < this.#wanted) this.#hold(bytes, this.#wanted);
    else this.#serve(bytes);
  }

  /** Serves the request in `bytes`, waits for the rest of it, or leaves the lane. */
  #serve(bytes: Buffer): void {
    const { registry, handler } = this.#lane;
    const found = this.#findHead(bytes);
    if (found === undefined) {
      if (bytes.length >= fastLimits.headBytesMax || !couldBeFast(bytes)) this.#leave(bytes, true);
      else this.#hold(bytes, bytes.length + 1);
      return;
    }
    const { head, headLength } = found;
    // A client that asks for more before it has taken what it asked for is one for the server that counts such debts.
    const isBehind = this.#socket.writableLength > fastLimits.unsentBytesMax;
    if (head === undefined || head.bodyBytes > fastLimits.bodyBytesMax || isBehind || registry.draining) {
      this.#leave(bytes, true);
      return;
    }
    const total = headLength + head.bodyBytes;
    if (bytes.length !== total) {
      if (bytes.length < total) this.#hold(bytes, total);
      else this.#leave(bytes, true);
      return;
    }
    this.#release();
    assert(!this.#busy, "a connection has one request at a time");
    this.#busy = true;
    registry.inFlight++;
    const { remoteAddress, remotePort } = this.#socket;
    try {
      if (handler({ head, body: bytes.subarray(headLength), remoteAddress, remotePort }, this)) return;
    } catch (error) {
      registry.log.error({ err: error, method: head.method }, "request handler threw");
      this.send(500, ["content-type", "application/json"], errorBody("internal", "internal error"));
      return;
    }
    this.#busy = false;
    this.#leave(bytes, true);
    registry.ended(1);
  }

  /** The head at the start of `bytes`, parsed where the lane takes it; undefined while it is not whole. */
  #findHead(bytes: Buffer): FoundHead | undefined {
    const again = this.#known?.find(bytes);
    if (again !== undefined) return again;
    const found = readHead(bytes, fastLimits.headBytesMax);
    if (found !== undefined) this.#known = found.known;
    return found;
  }

  #hold(bytes: Buffer, wanted: number): void {
    const lane = this.#lane;
    if (this.#partial.length === 0) this.#partialSinceMs = lane.registry.nowMs;
    lane.partialBytes += bytes.length - this.#partial.length;
    this.#partial = bytes;
    this.#wanted = wanted;
    if (lane.partialBytes > fastLimits.partialBytesMax) this.#leave(bytes);
  }

  #release(): void {
    this.#lane.partialBytes -= this.#partial.length;
    assert(this.#lane.partialBytes >= 0, "a lane gives back what it took");
    this.#partial = nothing;
    this.#wanted = 0;
  }

  /** `hasTurn`: what is put back runs in this turn. */
  #leave(bytes: Buffer, hasTurn = false): void {
    const socket = this.#socket;
    this.#forget();
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("close", this.#onClose);
    socket.pause();
    if (bytes.length > 0) socket.unshift(bytes);
    this.#lane.leave(socket, hasTurn);
    socket.resume();
  }

  #ended(): void {
    this.#peerDone = true;
    if (this.#busy) return;
    // Half a request will never be a whole one.
    if (this.#partial.length > 0) this.#socket.write(rawAnswer(400, "is not valid HTTP/1.1", "request"));
    this.#socket.destroySoon();
  }

  #closed(): void {
    this.#forget();
    if (!this.#busy) return;
    this.#busy = false;
    this.#onLeft?.();
    this.#onLeft = undefined;
    this.#lane.registry.ended(1);
  }

  #forget(): void {
    this.#release();
    this.#lane.registry.connections.delete(this);
  }
}

export function bodyLength(body: FastBody): number {
  if (typeof body === "string" || Buffer.isBuffer(body)) return body.length;
  let length = 0;
  for (const part of body) length += part.length;
  return length;
}

/** Whether bytes without the end of a head can still become one of ours. */
function couldBeFast(bytes: Buffer): boolean {
  const start = bytes.latin1Slice(0, Math.min(6, bytes.length));
  return "POST /".startsWith(start) || "GET /".startsWith(start.slice(0, 5));
}
