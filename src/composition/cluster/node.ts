import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { NodeClock } from "../../adapter/node/clock.ts";
import { EpochStore } from "../../adapter/replicated/epoch-store.ts";
import type { Member } from "../../adapter/replicated/member.ts";
import { EpochOwnership } from "../../adapter/replicated/ownership.ts";
import { troubleOf } from "../../adapter/replicated/trouble.ts";
import { SingleOwnership } from "../../adapter/single/ownership.ts";
import { checkAuthConfig } from "../../edge/auth/config.ts";
import { ClusterFront, type ClusterView } from "../../edge/cluster/front.ts";
import { Mount } from "../../edge/cluster/mount.ts";
import { OwnerProxy } from "../../edge/cluster/proxy.ts";
import { invalid } from "../../engine/errors.ts";
import { formatAddress } from "../../listener/address.ts";
import type { Listener } from "../../listener/listener.ts";
import { defaultNodeId } from "../config/cluster.ts";
import type { ServerConfig } from "../config/config.ts";
import { listenHosts } from "../listeners.ts";
import { freeBytes } from "../main-store.ts";
import { Server, type ServerHost } from "../server.ts";
import { StandbyServer } from "../standby-server.ts";
import { peerTls } from "./address.ts";
import { controlOf } from "./control.ts";
import { type Doors, openDoors } from "./doors.ts";
import { type Ground, openGround } from "./ground.ts";
import { clusterPlace } from "./objects.ts";

/** A deposed server answers what is in flight within this time; it may answer nothing new. */
const deposedMs = 1_000;
/** How long requests wait for the next owner while the place is handed over. */
const handoverMsMax = 5_000;
const handoverLookMs = 10;
const leaveMsMax = 3_000;
/** What runs is given before the place is handed over. */
const graceMs = 2_000;
/** A standby answers eventual reads as long as it has known all of the log within this. */
const freshMs = 5_000;

/** With less than this free, another node should be the owner. */
const roomBytesMin = 64 * 1024 * 1024;
const roomLookMs = 1_000;

/**
 * A node of a cluster: it follows the shared log, and passes requests on to the owner. While it is the owner itself it has a server of its
 * own, a new one each time: what an engine has in memory is never older than the log.
 */
export class ClusterNode implements ClusterView {
  readonly url: string;
  readonly postgres: string | undefined;
  readonly mysql: string | undefined;
  readonly live: string | undefined;
  readonly #config: ServerConfig;
  readonly #log: Logger;
  readonly #onFatal: (error: Error) => void;
  readonly #node: string;
  readonly #clock = new NodeClock();
  readonly #front: ClusterFront;
  readonly #opened: AsyncDisposableStack;
  readonly #listener: Listener;
  readonly #liveListener: Listener | undefined;
  #ground: Ground | undefined;
  #server: { readonly server: Server; readonly epoch: number } | undefined;
  readonly #standby: StandbyServer;
  /** Servers begin and end one after another. */
  #changing: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();
  #isHandingOver = false;
  #isLooking = false;

  static async start(config: ServerConfig, log: Logger, onFatal: (error: Error) => void): Promise<ClusterNode> {
    for (const warning of checkAuthConfig(config.auth, listenHosts(config))) log.warn(warning);
    if (existsSync(join(config.dataDir, "log"))) {
      throw invalid("data-dir", "holds the data of a single server; a node of a cluster begins with an empty folder");
    }
    await using opened = new AsyncDisposableStack();
    const lock = opened.use(new SingleOwnership(config.dataDir));
    await lock.acquire(AbortSignal.timeout(10_000));
    // Requests that come before the node is ready are asked to retry.
    let node: ClusterNode | undefined;
    const view: ClusterView = {
      get mayAnswer() {
        return node?.mayAnswer ?? false;
      },
      get ownerAddress() {
        return node?.ownerAddress;
      },
      get isFresh() {
        return node?.isFresh ?? false;
      },
      get status() {
        return node?.status ?? {};
      },
    };
    const owner = () => view.ownerAddress;
    const proxy = new OwnerProxy({ node: config.nodeId ?? defaultNodeId(), tls: peerTls(config), owner });
    opened.defer(() => proxy.close());
    const front = new ClusterFront(view, proxy);
    const doors = await openDoors(config, front, log, opened);
    node = new ClusterNode(config, log, onFatal, front, doors);
    await node.#follow();
    node.#opened.use(opened.move());
    return node;
  }

  private constructor(
    config: ServerConfig,
    log: Logger,
    onFatal: (error: Error) => void,
    front: ClusterFront,
    { listener, live, postgres, mysql }: Doors,
  ) {
    this.#config = config;
    this.#log = log;
    this.#onFatal = onFatal;
    this.#node = config.nodeId ?? defaultNodeId();
    this.#front = front;
    this.#listener = listener;
    this.#liveListener = live;
    this.#opened = new AsyncDisposableStack();
    this.#standby = new StandbyServer({
      config,
      log,
      onFatal,
      listener,
      front,
      clock: this.#clock,
      host: () => this.#serverHost(() => true),
    });
    this.url = listener.address.url;
    this.postgres = postgres && formatAddress(postgres.address);
    this.mysql = mysql && formatAddress(mysql.address);
    this.live = live && formatAddress(live.address);
  }

  get mayAnswer(): boolean {
    return this.#member?.mayAnswer ?? false;
  }

  get ownerAddress(): string | undefined {
    const owner = this.#member?.owner;
    return owner === undefined || owner.node === this.#node ? undefined : owner.address;
  }

  get isFresh(): boolean {
    return (this.#member?.lag.ms ?? Infinity) < freshMs;
  }

  get status(): object {
    const member = this.#member;
    if (member === undefined) return { node: this.#node };
    const { role, epoch, position, owner, silentMs, lag } = member;
    const { newest } = this.#ground!.keeper;
    return {
      node: this.#node,
      role,
      owner: owner?.node ?? null,
      epoch,
      position,
      silent_ms: Math.round(silentMs),
      lag: lag.entries,
      lag_ms: Number.isFinite(lag.ms) ? Math.round(lag.ms) : null,
      problem: troubleOf(member),
      snapshot_position: newest.position,
      snapshot_age_ms: Math.round(newest.ageMs),
    };
  }

  get #member(): Member | undefined {
    return this.#ground?.replicated.member;
  }

  /** Opens the store and the log, and begins to apply the one to the other. */
  async #follow(): Promise<void> {
    const { advertise } = this.#config;
    const ground = await openGround(this.#config, {
      node: { name: this.#node, address: formatAddress(advertise ?? this.#reachable) },
      log: this.#log,
      clock: this.#clock,
      onRole: (role) => this.#onRole(role),
      onIngested: (entry) => {
        this.#standby.onIngested(entry);
        this.#lookForStandby();
      },
      onFatal: this.#onFatal,
    });
    const { store, replicated } = ground;
    this.#ground = ground;
    replicated.follow((position, parts) => store.ingest(position, parts));
    void this.#watchRoom(replicated.member);
  }

  /** Gives the place up where the disk is full and another node has room. */
  async #watchRoom(member: Member): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      member.isFull = freeBytes(this.#config.dataDir) < roomBytesMin;
      if (member.isFull && member.role === "owner" && member.hasHeir(this.#node)) await this.#handOver();
      await this.#clock.sleep(roomLookMs, this.#stopping.signal);
    }
  }

  get #reachable(): { host: string; port: number } {
    const { hostname, port } = new URL(this.#listener.address.url);
    return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
  }

  #onRole(role: Member["role"]): void {
    const epoch = this.#member?.epoch;
    this.#log.info({ node: this.#node, role, epoch }, `cluster: ${role}`);
    if (role === "standby") this.#front.mounted = undefined;
    if (role === "owner") this.#front.following = undefined;
    if (role !== "owner" && role !== "standby") return;
    const settled = this.#change(() => this.#settle());
    // What comes while the server begins is answered by it.
    if (role === "owner") this.#front.pause(settled);
  }

  #change(step: () => Promise<void>): Promise<void> {
    const done = this.#changing.then(step);
    this.#changing = done.catch((err: unknown) => {
      this.#log.fatal({ err }, "the owner's server could not be started or ended");
      this.#onFatal(err as Error);
    });
    return this.#changing;
  }

  /** A new node has nothing to serve before it has read what the first owner has set up. */
  #lookForStandby(): void {
    if (this.#isLooking || this.#member?.role !== "standby" || !this.#standby.mayBegin(this.#ground!.store)) return;
    this.#isLooking = true;
    void this.#change(async () => {
      this.#isLooking = false;
      await this.#settle();
    });
  }

  /** Has the owner's server if and only if this node is the owner, and else that of a standby. */
  async #settle(): Promise<void> {
    const member = this.#member!;
    const epoch = member.role === "owner" ? member.epoch : undefined;
    if (this.#server !== undefined && this.#server.epoch !== epoch) await this.#end(deposedMs);
    if (this.#stopping.signal.aborted) return;
    if (this.#server === undefined && epoch !== undefined) await this.#begin(epoch);
    if (epoch !== undefined) void this.#standby.end(graceMs);
    else if (member.role === "standby" && this.#standby.mayBegin(this.#ground!.store)) await this.#standby.begin();
  }

  #serverHost(isOver: () => boolean): Omit<ServerHost, "listen" | "listenLive"> {
    const { store } = this.#ground!;
    const member = this.#member!;
    return {
      store: new EpochStore(store, isOver),
      objects: clusterPlace(this.#config),
      ownership: new EpochOwnership(member),
      cluster: controlOf({
        member,
        node: this.#node,
        counts: this.#front.counts,
        newestSnapshot: () => this.#ground!.keeper.newest,
        // The answer goes out before the server that gives it ends.
        handOver: (to) => void setImmediate(() => void this.#handOver(to)),
      }),
      wirePeers: this.#front.wirePeers,
    };
  }

  async #begin(epoch: number): Promise<void> {
    const beganMs = this.#clock.steadyMs();
    const member = this.#member!;
    const { postgresListen, mysqlListen } = this.#config;
    const inner = { host: "127.0.0.1", port: 0, isDefault: false } as const;
    const config: ServerConfig = {
      ...this.#config,
      postgresListen: postgresListen === "off" ? "off" : inner,
      mysqlListen: mysqlListen === "off" ? "off" : inner,
    };
    let main: Mount | undefined;
    let live: Mount | undefined;
    const isOver = () => member.role !== "owner" || member.epoch !== epoch;
    let server: Server;
    try {
      server = await Server.start(config, this.#log, this.#onFatal, {
        ...this.#serverHost(isOver),
        listen: (handler, fast) => {
          main = new Mount(this.#listener, handler, fast);
          return main;
        },
        listenLive: (handler) => {
          live = this.#liveListener && new Mount(this.#liveListener, handler);
          return live;
        },
      });
    } catch (error) {
      // Another node has taken the place meanwhile, and the server could write nothing any more.
      if (isOver()) return;
      throw error;
    }
    this.#server = { server, epoch };
    if (isOver()) return;
    this.#front.mounted = {
      main: main!,
      live,
      postgres: server.postgresAddress,
      mysql: server.mysqlAddress,
    };
    const ms = Math.round(this.#clock.steadyMs() - beganMs);
    this.#log.info({ node: this.#node, epoch, ms }, "cluster: this node is the owner");
  }

  async #end(drainMs: number): Promise<void> {
    const ended = this.#server;
    this.#server = undefined;
    this.#front.mounted = undefined;
    await ended?.server.stop(drainMs);
  }

  /** Ends this node's server, gives the place up, and waits until another node has it. Requests wait meanwhile. */
  async #handOver(to?: string): Promise<void> {
    const member = this.#member!;
    if (member.role !== "owner" || this.#isHandingOver) return;
    this.#isHandingOver = true;
    const over = Promise.withResolvers<void>();
    this.#front.pause(over.promise);
    const beganMs = this.#clock.steadyMs();
    try {
      await this.#change(async () => {
        await this.#end(graceMs);
        // Without the log nobody can take the place; the others claim it when they can.
        const left = member.role === "owner" ? member.leave(to) : undefined;
        // One that was deposed meanwhile has nothing to give up.
        await Promise.race([left?.catch(() => undefined), this.#clock.sleep(leaveMsMax)]);
      });
      while (this.ownerAddress === undefined && this.#clock.steadyMs() - beganMs < handoverMsMax) {
        await this.#clock.sleep(handoverLookMs);
      }
    } finally {
      this.#isHandingOver = false;
      over.resolve();
    }
    const ms = Math.round(this.#clock.steadyMs() - beganMs);
    this.#log.info({ node: this.#node, owner: member.owner?.node, ms }, "cluster: the place was handed over");
  }

  /** Hands the place over where this node has it, answers what is in flight, and ends. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#front.isDraining = true;
    await this.#handOver();
    const { drainTimeoutMs } = this.#config;
    await this.#changing;
    // What waits at the standby's server is answered by its end.
    const ending = this.#standby.end(drainTimeoutMs);
    await Promise.all([this.#listener, this.#liveListener].map((each) => each?.drain(drainTimeoutMs)));
    await this.#changing;
    await this.#end(0);
    await ending;
    await this.#ground?.keeper.close();
    // Before the store, which takes nothing more when it closes.
    await this.#member?.close();
    // Closes the log and the view, too.
    await this.#ground?.store.close();
    await this.#opened.disposeAsync();
  }
}
