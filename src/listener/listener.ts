import type { Server as Http1Server } from "node:http";
import type { Http2Server, Http2ServerRequest } from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from "node:tls";
import { openAcceptors } from "./acceptors.ts";
import { type Address, formatAddress } from "./address.ts";
import { Certificate, type CertificateFiles, type CertificatePair, type ServedCertificates } from "./certificate.ts";
import { FastConnection, type FastHandler, FastLane } from "./fast-lane.ts";
import { createHttp1, Http1Connection, liftHttp1Deadline } from "./http1.ts";
import { createHttp2, Http2Connection, liftHttp2Deadline } from "./http2.ts";
import { type ListenerLimits, listenerLimits } from "./limits.ts";
import { OpeningConnection } from "./opening-connection.ts";
import { refuseConnection } from "./refuse-connection.ts";
import { type AnyRequest, type Handler, type ListenerCounters, type ListenerLog, Registry } from "./registry.ts";
import { type Protocol, sniff } from "./sniff.ts";

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** TLS with HTTP/2 and HTTP/1.1 by ALPN; read again when the files change. */
  readonly tls?: CertificateFiles;
  /** What is not given is taken from `listenerLimits`. */
  readonly limits?: Partial<ListenerLimits>;
  readonly handler: Handler;
  /** Takes the requests of HTTP/1 that it knows before they become Node's; what it does not take goes to `handler`. */
  readonly fast?: FastHandler | undefined;
  readonly log: ListenerLog;
}

export interface ListenerAddress extends Address {
  /** A URL under which this machine reaches the listener. */
  readonly url: string;
}

/**
 * Lifts the deadline for receiving this request, for a handler whose caller may stream for hours before the answer
 * begins. Once an answer has begun there is no such deadline anyway.
 */
export function liftRequestDeadline(request: AnyRequest): void {
  if ("stream" in request) liftHttp2Deadline(request as Http2ServerRequest);
  else liftHttp1Deadline(request);
}

/** One port for HTTP/1.1 and HTTP/2, in clear text or with TLS. Knows nothing of routes. */
export class Listener {
  readonly address: ListenerAddress;
  readonly #registry: Registry;
  readonly #server: Server;
  /** Further sockets on the same port, whose connections are the server's. */
  readonly #acceptors: readonly Server[];
  readonly #http1: Http1Server;
  readonly #http2: Http2Server;
  readonly #lane: FastLane | undefined;
  /** Also those still in their TLS handshake, which are no connection of the registry yet. */
  readonly #sockets = new Set<Socket>();
  /** Peers that are refused because there are too many; a TLS socket and the one below it share the entry. */
  readonly #refused = new Set<string>();
  readonly #timers: NodeJS.Timeout[] = [];
  #certificate: Certificate | undefined;
  #sweptMs = performance.now();
  #refusedSeen = 0;
  #drained: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  #hurry: (() => void) | undefined;

  static async start(options: ListenerOptions): Promise<Listener> {
    const limits = { ...listenerLimits, ...options.limits };
    const registry = new Registry(limits, options.log, options.handler);
    const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: limits.tcpKeepAliveMs };
    if (options.tls === undefined) {
      // Half-open as node:http has it: a peer that has sent everything may still be owed an answer.
      const server = createServer({ ...socketOptions, allowHalfOpen: true });
      const acceptors = await openAcceptors(server, options, limits, { ...socketOptions, allowHalfOpen: true });
      return new Listener(server, acceptors, registry, false, options.fast);
    }
    const certificate = await Certificate.open(options.tls, options.log);
    const server = createTlsServer({
      ...socketOptions,
      ...certificate.pair,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: limits.sniffTimeoutMs,
    });
    const acceptors = await openAcceptors(server, options, limits, socketOptions);
    const listener = new Listener(server, acceptors, registry, true, options.fast);
    listener.#certificate = certificate;
    listener.#every(limits.certificateCheckMs, () => certificate.refresh(server));
    return listener;
  }

  private constructor(
    server: Server,
    acceptors: readonly Server[],
    registry: Registry,
    secure: boolean,
    fast: FastHandler | undefined,
  ) {
    this.#server = server;
    this.#acceptors = acceptors;
    this.#registry = registry;
    this.#http1 = createHttp1(registry);
    this.#http2 = createHttp2(registry);
    if (fast !== undefined) {
      this.#lane = new FastLane(registry, fast, (socket, hasTurn) => {
        new Http1Connection(registry, this.#http1, socket, hasTurn);
      });
    }
    this.address = describe(server.address() as AddressInfo, secure);
    for (const each of [server, ...acceptors]) {
      each.maxConnections = registry.limits.connectionsMax + registry.limits.refusalsMax;
      each.on("drop", () => {
        registry.counters.refused++;
      });
      // For example no file descriptor left to accept with; the listener goes on.
      each.on("error", (error) => registry.log.error({ err: error }, "listening socket"));
    }
    server.on("connection", (socket: Socket) => this.#onSocket(socket, secure));
    for (const each of acceptors) each.on("connection", (socket: Socket) => void server.emit("connection", socket));
    if (secure) this.#secure(server as TlsServer);
    this.#every(registry.limits.sweepIntervalMs, () => this.#sweep());
  }

  /** Requests whose answer is neither finished nor cut off. */
  get inFlight(): number {
    return this.#registry.inFlight;
  }

  /** Open connections, those in their TLS handshake included. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** The certificates in use; undefined without TLS. */
  get certificates(): ServedCertificates | undefined {
    return this.#certificate?.served;
  }

  /** The certificate and its key, for other wires of the same server; undefined without TLS. */
  get certificatePair(): CertificatePair | undefined {
    return this.#certificate?.pair;
  }

  get counters(): Readonly<ListenerCounters> {
    return this.#registry.counters;
  }

  get draining(): boolean {
    return this.#registry.draining;
  }

  /** Resolves once every request whose head has come is with the handler, for one that is about to refuse new ones. */
  async settle(): Promise<void> {
    for (const connection of this.#registry.connections) connection.settle?.();
    // What was handed to the full parser is read in the next turn.
    for (let turn = 0; turn < settleTurns; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /**
   * Lets the requests in flight finish and closes, at the latest after the given time. New connections are taken
   * until then, so that the handler can say that it is not ready. A second call changes nothing.
   */
  drain(timeoutMs: number): Promise<void> {
    this.#drained ??= this.#drain(timeoutMs);
    return this.#drained;
  }

  /** Cuts everything off. */
  close(): Promise<void> {
    this.#hurry?.();
    return this.#shut(0);
  }

  async #drain(timeoutMs: number): Promise<void> {
    const registry = this.#registry;
    registry.draining = true;
    for (const connection of registry.connections) connection.drain();
    this.#http1.closeIdleConnections();
    const inTime = await this.#idle(timeoutMs);
    if (!inTime) registry.log.warn({ inFlight: registry.inFlight }, "drain time is over; requests are cut off");
    await this.#shut(inTime ? registry.limits.lingerMs : 0);
  }

  /** True once no request is in flight, false when the time is over or `close` was called. */
  #idle(timeoutMs: number): Promise<boolean> {
    const registry = this.#registry;
    if (registry.inFlight === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(false), timeoutMs);
      const done = (idle: boolean) => {
        clearTimeout(timer);
        registry.onIdle = undefined;
        this.#hurry = undefined;
        resolve(idle);
      };
      registry.onIdle = () => done(true);
      this.#hurry = () => done(false);
    });
  }

  #shut(lingerMs: number): Promise<void> {
    if (lingerMs === 0) this.#destroyAll();
    this.#closed ??= this.#closeAll(lingerMs);
    return this.#closed;
  }

  async #closeAll(lingerMs: number): Promise<void> {
    const timer = setTimeout(() => this.#destroyAll(), lingerMs);
    const closed = Promise.all(
      [this.#server, ...this.#acceptors].map((each) => new Promise<void>((resolve) => each.close(() => resolve()))),
    );
    for (const connection of this.#registry.connections) connection.end();
    await closed;
    // The server counts a socket out when it is destroyed, a moment before the socket says so to us.
    await Promise.all([...this.#sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve))));
    clearTimeout(timer);
    for (const each of this.#timers) clearInterval(each);
    // Never listened, so there is nothing to close but its timer.
    this.#http1.close();
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #onSocket(socket: Socket, secure: boolean): void {
    const { counters, limits } = this.#registry;
    // Stays for the socket's life: an error closes the socket, and that is all we want to know of it.
    socket.on("error", ignore);
    const over = this.#sockets.size - limits.connectionsMax;
    if (over >= 0) counters.refused++;
    if (over >= limits.refusalsMax) {
      socket.destroy();
      return;
    }
    if (over < 0) counters.accepted++;
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    if (over >= 0) {
      const peer = peerOf(socket);
      this.#refused.add(peer);
      socket.once("close", () => this.#refused.delete(peer));
    }
    if (!secure) this.#open(socket);
  }

  #secure(server: TlsServer): void {
    const { counters } = this.#registry;
    server.on("secureConnection", (socket: TLSSocket) => {
      socket.on("error", ignore);
      if (socket.alpnProtocol === "h2") this.#adopt(socket, "http2");
      else if (socket.alpnProtocol === "http/1.1") this.#adopt(socket, "http1");
      else this.#open(socket);
    });
    server.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      if (error.code === "ERR_TLS_HANDSHAKE_TIMEOUT") counters.timedOut++;
      else counters.handshakesFailed++;
      socket.destroy();
    });
  }

  #open(socket: Socket): void {
    const { connections } = this.#registry;
    const opening = new OpeningConnection(this.#registry, socket);
    connections.add(opening);
    const onClose = () => connections.delete(opening);
    socket.once("close", onClose);
    sniff(socket, (protocol) => {
      connections.delete(opening);
      socket.off("close", onClose);
      if (socket.destroyed) return;
      // Node's HTTP/2 server refuses a TLS socket without ALPN, though its first bytes show the protocol.
      if (protocol === "http2" && "alpnProtocol" in socket) socket.alpnProtocol = "h2";
      this.#adopt(socket, protocol);
    });
  }

  #adopt(socket: Socket, protocol: Protocol): void {
    if (this.#refused.size > 0 && this.#refused.has(peerOf(socket)))
      refuseConnection(socket, protocol, this.#registry.limits.lingerMs);
    else if (protocol === "http2") new Http2Connection(this.#registry, this.#http2, socket);
    else if (this.#lane !== undefined && !this.#registry.draining) new FastConnection(this.#lane, socket);
    else new Http1Connection(this.#registry, this.#http1, socket);
  }

  #sweep(): void {
    const nowMs = performance.now();
    this.#registry.sweep(nowMs - this.#sweptMs);
    this.#sweptMs = nowMs;
    const { counters, limits, log } = this.#registry;
    if (counters.refused !== this.#refusedSeen) {
      const refused = counters.refused - this.#refusedSeen;
      this.#refusedSeen = counters.refused;
      log.warn({ refused, connectionsMax: limits.connectionsMax }, "connections refused: too many are open");
    }
  }

  #every(ms: number, run: () => void): void {
    this.#timers.push(setInterval(run, ms).unref());
  }
}

const settleTurns = 2;

function ignore(): void {}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function describe(bound: AddressInfo, secure: boolean): ListenerAddress {
  const reachable = bound.address === "::" ? "::1" : bound.address === "0.0.0.0" ? "127.0.0.1" : bound.address;
  const authority = formatAddress({ host: reachable, port: bound.port });
  return { host: bound.address, port: bound.port, url: `${secure ? "https" : "http"}://${authority}` };
}
