import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { EngineError } from "../../engine/errors.ts";
import { WriteStall } from "../../listener/write-stall.ts";
import type { ByteAccount } from "./byte-budget.ts";
import type { WireLimits } from "./limits.ts";
import type { WirePeers } from "./peers.ts";

/** What a connection waits for: the sweep keeps another deadline for each. */
export type WirePhase =
  /** The end of the sign-in. */
  | "handshake"
  /** The next request. */
  | "idle"
  /** Our own work. */
  | "busy"
  /** The peer to close, after our last words. */
  | "ending";

export type Overdue = "handshake" | "idle" | "message" | "stalled" | "linger";

/**
 * One TCP connection of a wire. Bytes are pulled: a session asks for as many as its next message has, and what nobody
 * asks for stays with the peer. Writing is given back-pressure by `drained`.
 */
export class WireConnection {
  /** Aborted when the peer has gone or its half is closed, since no client of these protocols waits with a closed half. */
  readonly signal: AbortSignal;
  /** Whether there are already as many connections as may be: say so, and end. */
  readonly overLimit: boolean;
  phase: WirePhase = "handshake";
  readonly #limits: WireLimits;
  readonly #peers: WirePeers | undefined;
  readonly #gone = new AbortController();
  #socket: Socket;
  #stall: WriteStall;
  #secure = false;
  #parts: Buffer[] = [];
  #held = 0;
  /** What of the message in hand counts besides. */
  #inHand = 0;
  readonly #account: ByteAccount;
  #hasRoom = true;
  /** Bytes that `fill` waits for. */
  #wanted = 0;
  #wake: (() => void) | undefined;
  #sinceMs = 0;
  #watched: WirePhase | "message" | undefined;

  constructor(socket: Socket, limits: WireLimits, overLimit: boolean, account: ByteAccount, peers?: WirePeers) {
    this.#peers = peers;
    this.signal = this.#gone.signal;
    this.overLimit = overLimit;
    this.#limits = limits;
    this.#account = account;
    this.#socket = socket;
    this.#stall = new WriteStall(socket);
    this.#listen(socket);
  }

  get remoteAddress(): string | undefined {
    // Who is not known is taken for somebody on another machine.
    return this.#peers === undefined ? this.#socket.remoteAddress : this.#peers.addressOf(this.#socket.remotePort);
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  get isSecure(): boolean {
    return this.#secure;
  }

  /** What TLS agreed on; undefined without it. */
  get cipher(): { readonly name: string; readonly version: string } | undefined {
    const socket = this.#socket;
    if (!(socket instanceof TLSSocket)) return undefined;
    return { name: socket.getCipher()?.name ?? "", version: socket.getProtocol() ?? "" };
  }

  get isOpen(): boolean {
    return !this.signal.aborted && this.phase !== "ending";
  }

  /** Bytes that are here and were not taken. */
  get held(): number {
    return this.#held;
  }

  /**
   * Waits until so many bytes are here; false when the connection ends before. Throws when all connections together hold
   * too many. Whoever asks for more is done with what was taken before.
   */
  async fill(bytes: number): Promise<boolean> {
    while (this.#held < bytes) {
      if (!this.isOpen) return false;
      this.#inHand = 0;
      this.#count();
      if (!this.#hasRoom)
        throw new EngineError("resource_exhausted", "too many bytes of messages are under way; retry");
      this.#wanted = bytes;
      this.#socket.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wanted = 0;
    return true;
  }

  /** The next bytes, which `fill` has found to be here; they stay to be taken. */
  peek(bytes: number): Buffer {
    const first = this.#parts[0];
    if (first === undefined || first.length < bytes) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0]!.subarray(0, bytes);
  }

  take(bytes: number): Buffer {
    assert(bytes <= this.#held, "only what has come is taken");
    const message = this.peek(bytes);
    const first = this.#parts[0]!;
    if (first.length === bytes) this.#parts.shift();
    else this.#parts[0] = first.subarray(bytes);
    this.#held -= bytes;
    this.#inHand = bytes;
    return message;
  }

  write(bytes: Uint8Array): void {
    if (this.isOpen) this.#socket.write(bytes);
  }

  /** Resolves once the peer has taken most of what was written, or has gone. */
  drained(): Promise<void> | undefined {
    if (!this.#socket.writableNeedDrain || this.signal.aborted) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        this.#socket.off("drain", done);
        this.signal.removeEventListener("abort", done);
        resolve();
      };
      this.#socket.on("drain", done);
      this.signal.addEventListener("abort", done);
    });
  }

  /**
   * Goes on with TLS, whose first bytes may be here already where the protocol lets the peer send them unasked.
   * Rejects when the handshake fails; the connection is then closed.
   */
  async startTls(context: SecureContext, alpn?: readonly string[]): Promise<void> {
    const plain = this.#socket;
    plain.off("data", this.#onData);
    plain.off("end", this.#onGone);
    plain.pause();
    for (const part of this.#parts.reverse()) plain.unshift(part);
    this.#parts = [];
    this.#held = 0;
    const secured = new TLSSocket(plain, {
      isServer: true,
      secureContext: context,
      ...(alpn === undefined ? {} : { ALPNProtocols: [...alpn] }),
    });
    this.#socket = secured;
    this.#secure = true;
    await new Promise<void>((resolve, reject) => {
      secured.once("secure", resolve);
      secured.once("error", reject);
      secured.once("close", () => reject(new Error("the connection ended in its TLS handshake")));
    }).catch((error: unknown) => {
      this.destroy();
      throw error;
    });
    this.#listen(secured);
  }

  /** Says the last words and closes once they are on their way. */
  end(lastWords?: Uint8Array): void {
    if (this.phase === "ending") return;
    const gone = this.signal.aborted;
    if (lastWords !== undefined && !gone) this.#socket.write(lastWords);
    this.phase = "ending";
    // Else a peer that does not go would keep others from the room.
    this.#parts = [];
    this.#held = 0;
    this.#count();
    if (gone) this.#socket.destroySoon();
    else this.#socket.end();
    // What the peer still sends is read and dropped: unread bytes would make the close a reset, which eats our words.
    this.#socket.resume();
    this.#wakeUp();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#onGone();
  }

  /** The deadline that has passed, if one has. */
  overdue(nowMs: number): Overdue | undefined {
    const watched = this.#wanted > 0 && this.#held > 0 && this.phase === "idle" ? "message" : this.phase;
    if (watched !== this.#watched) {
      // The whole of a sign-in has one deadline; waiting for its messages does not begin it anew.
      this.#watched = watched;
      this.#sinceMs = nowMs;
    }
    const stalledMs = this.#stall.stalledMs(nowMs, this.#stall.pending, this.#stall.bytesWritten);
    const waitedMs = nowMs - this.#sinceMs;
    const { handshakeTimeoutMs, idleTimeoutMs, messageTimeoutMs, writeStallTimeoutMs, lingerMs } = this.#limits;
    if (watched === "ending") return waitedMs >= lingerMs ? "linger" : undefined;
    if (stalledMs >= writeStallTimeoutMs) return "stalled";
    if (watched === "handshake" && waitedMs >= handshakeTimeoutMs) return "handshake";
    if (watched === "message" && waitedMs >= messageTimeoutMs) return "message";
    return watched === "idle" && waitedMs >= idleTimeoutMs ? "idle" : undefined;
  }

  /** The idle time begins anew with each request, however short it was between two sweeps. */
  touched(): void {
    this.#watched = undefined;
  }

  #listen(socket: Socket): void {
    // Stays for the socket's life: an error closes the socket, and that is all we want to know of it.
    socket.on("error", ignore);
    socket.on("data", this.#onData);
    socket.on("end", this.#onGone);
    socket.once("close", this.#onGone);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.phase === "ending") return;
    this.#parts.push(chunk);
    this.#held += chunk.length;
    this.#count();
    if (this.#held >= this.#wanted || !this.#hasRoom) this.#wakeUp();
    const { inboundBytesMax, unknownBytesMax } = this.#limits;
    const bytesMax = this.phase === "handshake" ? unknownBytesMax : inboundBytesMax;
    if (!this.#hasRoom || this.#held >= Math.max(bytesMax, this.#wanted)) this.#socket.pause();
  };

  #count(): void {
    this.#hasRoom = this.#account.hold(this.#held + this.#inHand);
  }

  readonly #onGone = (): void => {
    this.#account.release();
    this.#gone.abort();
    this.#wakeUp();
  };

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

function ignore(): void {}
