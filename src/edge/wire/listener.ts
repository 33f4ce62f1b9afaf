import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Address } from "../../listener/address.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { type Overdue, WireConnection } from "./connection.ts";
import { type WireLimits, wireLimits } from "./limits.ts";
import type { WirePeers } from "./peers.ts";

/** What a protocol makes of one connection. */
export interface WireSession {
  /** Serves the connection to its end. What it throws is logged, and the connection closed. */
  run(): Promise<void>;
  /** The server stops: say so and end, now if nothing is asked, else after the answer. */
  drain(): void;
  /** Nothing was asked for too long: say so and end. */
  expire(): void;
}

export interface WireOptions {
  /** For the log. */
  readonly name: string;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** What is not given is taken from `wireLimits`. */
  readonly limits?: Partial<WireLimits>;
  readonly log: ListenerLog;
  /** Of what is received and not yet dealt with. */
  readonly bytes: ByteBudget;
  /** Of a wire whose connections come through another socket of this process. */
  readonly peers?: WirePeers | undefined;
  /** Called for each connection, while draining too. */
  open(connection: WireConnection): WireSession;
}

/** What happened since the start; each only grows. */
export interface WireCounters {
  accepted: number;
  /** Told that there are too many, or closed for it. */
  refused: number;
  /** Cut off by the deadline of the sign-in, of a message or of idling. */
  timedOut: number;
  /** Cut off because the peer took none of the waiting data. */
  stalled: number;
}

/** The TCP listener of a wire that is no HTTP: connections and their bounds. Knows nothing of messages. */
export class WireListener {
  readonly address: Address;
  readonly counters: WireCounters = { accepted: 0, refused: 0, timedOut: 0, stalled: 0 };
  readonly #options: WireOptions;
  readonly #limits: WireLimits;
  readonly #server: Server;
  readonly #sessions = new Map<WireConnection, WireSession>();
  readonly #timer: NodeJS.Timeout;
  #nowMs = 1;
  #sweptMs = performance.now();
  #refusedSeen = 0;
  #draining = false;
  #drained: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  static async start(options: WireOptions): Promise<WireListener> {
    const limits = { ...wireLimits, ...options.limits };
    const server = createServer({
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: limits.tcpKeepAliveMs,
      allowHalfOpen: true,
    });
    server.maxConnections = limits.connectionsMax + limits.refusalsMax;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      // Without a host Node takes every interface, of IPv6 too where the machine has it.
      const host = options.host === "::" ? {} : { host: options.host };
      server.listen({ ...host, port: options.port, backlog: limits.backlogMax }, () => {
        server.off("error", reject);
        resolve();
      });
    });
    return new WireListener(server, options, limits);
  }

  private constructor(server: Server, options: WireOptions, limits: WireLimits) {
    this.#server = server;
    this.#options = options;
    this.#limits = limits;
    const { address: host, port } = server.address() as AddressInfo;
    this.address = { host, port };
    server.on("drop", () => {
      this.counters.refused++;
    });
    // For example no file descriptor left to accept with; the listener goes on.
    server.on("error", (error) => options.log.error({ err: error, wire: options.name }, "listening socket"));
    server.on("connection", (socket) => this.#accept(socket));
    this.#timer = setInterval(() => this.#sweep(), limits.sweepIntervalMs).unref();
  }

  /** Open connections, those that are being refused included. */
  get connections(): number {
    return this.#sessions.size;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /**
   * Tells every session to go and closes, at the latest after the given time. New connections are taken until then,
   * so that they are told why. A second call changes nothing.
   */
  drain(timeoutMs: number): Promise<void> {
    this.#drained ??= this.#drain(timeoutMs);
    return this.#drained;
  }

  /** Cuts everything off. */
  close(): Promise<void> {
    return this.drain(0);
  }

  async #drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    for (const session of this.#sessions.values()) session.drain();
    if (this.#sessions.size > 0 && timeoutMs > 0) {
      const timer = setTimeout(() => this.#onEmpty?.(), timeoutMs);
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
      clearTimeout(timer);
    }
    const closed = new Promise((resolve) => this.#server.close(resolve));
    const left = this.#sessions.size;
    if (left > 0 && timeoutMs > 0) {
      this.#options.log.warn({ wire: this.#options.name, left }, "drain time is over; statements are cut off");
    }
    for (const connection of this.#sessions.keys()) connection.destroy();
    await closed;
    clearInterval(this.#timer);
  }

  #accept(socket: Socket): void {
    this.counters.accepted++;
    const overLimit = this.#sessions.size >= this.#limits.connectionsMax;
    if (overLimit) this.counters.refused++;
    const connection = new WireConnection(
      socket,
      this.#limits,
      overLimit,
      this.#options.bytes.account(),
      this.#options.peers,
    );
    const session = this.#options.open(connection);
    this.#sessions.set(connection, session);
    socket.once("close", () => {
      this.#sessions.delete(connection);
      if (this.#sessions.size === 0) this.#onEmpty?.();
    });
    session
      .run()
      .catch((error: unknown) => {
        this.#options.log.error({ err: error, wire: this.#options.name }, "session failed");
        connection.destroy();
      })
      .finally(() => connection.end());
  }

  #sweep(): void {
    // Never jumps: while the process was held up its peers could not be heard.
    const nowMs = performance.now();
    this.#nowMs += Math.min(nowMs - this.#sweptMs, 2 * this.#limits.sweepIntervalMs);
    this.#sweptMs = nowMs;
    for (const [connection, session] of this.#sessions) {
      const overdue = connection.overdue(this.#nowMs);
      if (overdue !== undefined) this.#cutOff(connection, session, overdue);
    }
    const refused = this.counters.refused - this.#refusedSeen;
    if (refused === 0) return;
    this.#refusedSeen = this.counters.refused;
    const { connectionsMax } = this.#limits;
    this.#options.log.warn(
      { wire: this.#options.name, refused, connectionsMax },
      "connections refused: too many are open",
    );
  }

  #cutOff(connection: WireConnection, session: WireSession, overdue: Overdue): void {
    if (overdue === "stalled") this.counters.stalled++;
    else if (overdue !== "linger") this.counters.timedOut++;
    if (overdue === "idle") session.expire();
    else connection.destroy();
  }
}
