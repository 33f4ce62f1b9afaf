import type { Logger } from "pino";
import type { ClusterFront } from "../edge/cluster/front.ts";
import { Mount } from "../edge/cluster/mount.ts";
import type { Engine } from "../engine/engine.ts";
import { instanceKeys } from "../engine/instance/store.ts";
import type { Listener } from "../listener/listener.ts";
import type { Clock } from "../port/clock.ts";
import { decodeOps } from "../port/commit-entry.ts";
import type { Bytes, Store } from "../port/store.ts";
import type { ServerConfig } from "./config/config.ts";
import { Server, type ServerHost } from "./server.ts";

export interface StandbyOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly onFatal: (error: Error) => void;
  readonly clock: Clock;
  readonly listener: Listener;
  readonly front: ClusterFront;
  readonly host: () => Omit<ServerHost, "listen" | "listenLive" | "follow">;
}

/** After a start that failed. */
const retryMs = 5_000;

/** The server of a node that is not the owner, for reads that need not be the owner's. It is notified of every commit. */
export class StandbyServer {
  readonly #options: StandbyOptions;
  #engine: Engine | undefined;
  #server: Server | undefined;
  #retryAtMs = -Infinity;

  constructor(options: StandbyOptions) {
    this.#options = options;
  }

  /** Whether there could be one now: the first owner has set the instance up, and a start that failed is a while ago. */
  mayBegin(store: Pick<Store, "get">): boolean {
    if (this.#server !== undefined || this.#options.clock.steadyMs() < this.#retryAtMs) return false;
    return store.get(instanceKeys.signing) !== undefined;
  }

  /** A commit of the owner's, which the store has had since this turn. */
  onIngested(entry: Bytes): void {
    try {
      this.#engine?.onApplied(decodeOps(entry));
    } catch (err) {
      // What it has in memory can't be trusted any more.
      this.#options.log.error({ err }, "cluster: the server of a standby could not follow; it begins anew");
      void this.end(0);
    }
  }

  async begin(): Promise<void> {
    const { config, log, onFatal, listener, front, host } = this.#options;
    let main: Mount | undefined;
    try {
      // Connections of the SQL wires and of Live go to the owner as a whole.
      const own: ServerConfig = { ...config, postgresListen: "off", mysqlListen: "off" };
      this.#server = await Server.start(own, log, onFatal, {
        ...host(),
        listen: (handler, fast) => {
          main = new Mount(listener, handler, fast);
          return main;
        },
        listenLive: () => undefined,
        follow: (engine) => {
          this.#engine = engine;
        },
      });
    } catch (err) {
      this.#engine = undefined;
      this.#retryAtMs = this.#options.clock.steadyMs() + retryMs;
      log.error({ err }, "cluster: the server of a standby could not be started; all reads are passed on");
      return;
    }
    const engine = this.#engine;
    if (engine !== undefined) front.following = { main: main!, reaches: (...asked) => engine.reaches(...asked) };
  }

  async end(drainMs: number): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#engine = undefined;
    this.#options.front.following = undefined;
    await server?.stop(drainMs).catch((err: unknown) => {
      this.#options.log.error({ err }, "cluster: the server of a standby did not end as it should");
    });
  }
}
