import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { type Duplex, pipeline, type Readable, type Writable } from "node:stream";
import { type ConsistencyToken, parseToken } from "../../engine/token.ts";
import type { Address } from "../../listener/address.ts";
import type { FastHandler } from "../../listener/fast-lane.ts";
import { liftRequestDeadline } from "../../listener/listener.ts";
import type { AnyRequest, AnyResponse } from "../../listener/registry.ts";
import { WirePeers } from "../wire/peers.ts";
import type { Mount } from "./mount.ts";
import { clientHeader, forwardedHeader, type OwnerProxy, pipePath, portHeader } from "./proxy.ts";
import { refuseUnavailable, sendJson } from "./refusal.ts";
import { tokenHeader, type Wish, wishOf, wishOfBody } from "./wish.ts";

/** What a node knows of its cluster when a request comes. */
export interface ClusterView {
  /** Whether this node is the owner and may answer for all that was acknowledged. */
  readonly mayAnswer: boolean;
  /** Where the owner is, if it is another node; undefined where there is none. */
  readonly ownerAddress: string | undefined;
  /** Whether this node has lately known all that the log holds. */
  readonly isFresh: boolean;
  /** What `/ready` tells. */
  readonly status: object;
}

/** The server of a standby: for reads that need not be the owner's. */
export interface Following {
  readonly main: Mount;
  /** Resolves with whether all that a token names is here, once it is. */
  reaches(token: ConsistencyToken, signal: AbortSignal): Promise<boolean>;
}

/** The server of the owner, while this node is it. */
export interface Mounted {
  readonly main: Mount;
  readonly live: Mount | undefined;
  readonly postgres: Address | undefined;
  readonly mysql: Address | undefined;
}

/** Requests that wait; more are answered at once. */
const pausedMax = 2_000;
const draining = "the server is draining";
const noOwner = "the metastore has no leader yet; retry";

/** Every node takes every request: the owner answers, and the others pass on to it what they may not answer themselves. */
export class ClusterFront {
  readonly #view: ClusterView;
  readonly #proxy: OwnerProxy;
  mounted: Mounted | undefined;
  /** While this node is not the owner. */
  following: Following | undefined;
  /** Requests that this node has passed on to the owner, and reads that it has answered in its place. */
  readonly counts = { passedOn: 0, answered: 0 };
  readonly wirePeers = new WirePeers();
  #pause: Promise<void> | undefined;
  #paused = 0;
  isDraining = false;

  constructor(view: ClusterView, proxy: OwnerProxy) {
    this.#view = view;
    this.#proxy = proxy;
  }

  readonly handleMain = (request: AnyRequest, response: AnyResponse): void => {
    const path = (request.url ?? "").split("?", 1)[0]!;
    if (path === "/ready" || path === "/health") this.#probe(path, request, response);
    else if (path === "/metrics") this.#tell(request, response);
    else if (path.startsWith(pipePath)) this.#pipe(path.slice(pipePath.length), request, response);
    else this.#route(request, response, undefined);
  };

  /** Small requests that this node may answer itself, as is known from their heads; all others go the ordinary way. */
  readonly handleFast: FastHandler = (request, reply) => {
    if (this.#pause !== undefined || !request.head.target.startsWith("/v1/")) return false;
    if (this.#view.mayAnswer) return this.mounted?.main.fast?.(request, reply) ?? false;
    const { following } = this;
    if (following?.main.fast === undefined || !this.#view.isFresh) return false;
    const { method, target, headers } = request.head;
    if (headers[forwardedHeader] !== undefined) return false;
    if (wishOf({ method, url: target, headers }) !== "eventual" || !following.main.fast(request, reply)) return false;
    this.counts.answered++;
    return true;
  };

  readonly handleLive = (request: AnyRequest, response: AnyResponse): void => {
    this.#route(request, response, "live");
  };

  #route(request: AnyRequest, response: AnyResponse, port: string | undefined): void {
    // A caller that leaves is no error of ours; without a listener it would end the process.
    request.on("error", ignore);
    (response as Writable).on("error", ignore);
    this.#afterPause(() => this.#send(request, response, port));
  }

  #afterPause(run: () => void): void {
    if (this.#pause === undefined || this.#paused >= pausedMax) {
      run();
      return;
    }
    this.#paused++;
    void this.#pause.then(() => {
      this.#paused--;
      run();
    });
  }

  /** Requests wait until then: the place is handed over, or this node's server begins. It must end soon. */
  pause(until: Promise<void>): void {
    this.#pause = until;
    const goOn = () => {
      if (this.#pause === until) this.#pause = undefined;
    };
    void until.then(goOn, goOn);
  }

  /** Each node tells its own metrics. */
  #tell(request: AnyRequest, response: AnyResponse): void {
    const mount = this.mounted?.main ?? this.following?.main;
    if (mount !== undefined) mount.handle(request, response);
    else {
      request.resume();
      refuseUnavailable(request, response, noOwner);
    }
  }

  #send(request: AnyRequest, response: AnyResponse, port: string | undefined, mayFollow = true): void {
    const { mayAnswer, ownerAddress } = this.#view;
    const { following } = this;
    const isForwarded = request.headers[forwardedHeader] !== undefined;
    const wanted = port ?? (isForwarded ? request.headers[portHeader] : undefined);
    const mount = wanted === "live" ? this.mounted?.live : this.mounted?.main;
    if (mount !== undefined && mayAnswer) mount.handle(request, response);
    else if (mayFollow && following !== undefined && wanted === undefined && !isForwarded) {
      this.#read(following, request, response);
    } else if (ownerAddress !== undefined && !isForwarded) {
      this.counts.passedOn++;
      this.#proxy.forward(ownerAddress, request, response, port);
    } else refuseUnavailable(request, response, noOwner);
  }

  /** A request to a node that follows: a read that asks for no more is answered here. */
  #read(following: Following, request: AnyRequest, response: AnyResponse): void {
    const wish = wishOf(request);
    const passOn = () => this.#send(request, response, undefined, false);
    if (wish === "strong") passOn();
    else {
      this.#mayAnswer(following, wish, request, response).then((may) => {
        if (!may || this.following !== following) return passOn();
        this.counts.answered++;
        following.main.handle(request, response);
      }, passOn);
    }
  }

  async #mayAnswer(
    following: Following,
    known: Wish | undefined,
    request: AnyRequest,
    response: AnyResponse,
  ): Promise<boolean> {
    const wish = known ?? (await wishOfBody(request));
    // Where the log can't be reached, an old answer is better than none.
    if (wish === "eventual") return this.#view.isFresh || this.#view.ownerAddress === undefined;
    if (wish === "strong") return false;
    const gone = new AbortController();
    const leave = () => gone.abort();
    (response as NodeJS.EventEmitter).once("close", leave);
    try {
      return await following.reaches(parseToken(tokenHeader, String(request.headers[tokenHeader])), gone.signal);
    } finally {
      (response as NodeJS.EventEmitter).off("close", leave);
    }
  }

  #probe(path: string, request: AnyRequest, response: AnyResponse): void {
    request.resume();
    const { mayAnswer, ownerAddress, status } = this.#view;
    if (request.method !== "GET" && request.method !== "HEAD") {
      const message = `method: ${request.method} is not served here; use GET, HEAD`;
      sendJson(request, response, 405, { error: "invalid_argument", message });
    } else if (path === "/health") sendJson(request, response, 200, { status: "ok" });
    else if (this.isDraining) sendJson(request, response, 503, { error: "unavailable", message: draining, ...status });
    else if ((mayAnswer && this.mounted !== undefined) || ownerAddress !== undefined) {
      sendJson(request, response, 200, { status: "ready", ...status });
    } else sendJson(request, response, 503, { error: "unavailable", message: noOwner, ...status });
  }

  /** The bytes of a SQL wire that came to another node. */
  #pipe(wire: string, request: AnyRequest, response: AnyResponse): void {
    const target = this.#wire(wire);
    if (request.method !== "POST" || request.headers[forwardedHeader] === undefined || target === undefined) {
      request.resume();
      refuseUnavailable(request, response, noOwner);
      return;
    }
    liftRequestDeadline(request);
    const socket = this.#connect(target, String(request.headers[clientHeader] ?? ""));
    (response as ServerResponse).writeHead(200, { "content-type": "application/octet-stream" });
    pipeline(request as Readable, socket, ignore);
    pipeline(socket, response as unknown as Writable, ignore);
  }

  #wire(wire: string): Address | undefined {
    if (!this.#view.mayAnswer || (wire !== "postgres" && wire !== "mysql")) return undefined;
    return this.mounted?.[wire];
  }

  /** A connection of a SQL wire: to this node's own server, or to the owner's. One that comes during a handover waits for its end. */
  readonly takeWire = (wire: "postgres" | "mysql", client: Socket): void => {
    client.on("error", ignore);
    this.#afterPause(() => this.#passWire(wire, client));
  };

  #passWire(wire: "postgres" | "mysql", client: Socket): void {
    const local = this.#wire(wire);
    const { ownerAddress } = this.#view;
    const from = client.remoteAddress ?? "";
    if (client.destroyed) return;
    if (local !== undefined) both(client, this.#connect(local, from));
    else if (ownerAddress === undefined) client.destroy();
    else
      this.#proxy.pipe(ownerAddress, wire, from, (server) =>
        server === undefined ? client.destroy() : both(client, server),
      );
  }

  /** To the wire of this node's own server, which is to know where the client is. */
  #connect(target: Address, from: string): Socket {
    const socket = connect(target);
    let port = 0;
    socket.once("connect", () => {
      port = socket.localPort ?? 0;
      this.wirePeers.enter(port, from);
    });
    socket.once("close", () => this.wirePeers.leave(port));
    return socket;
  }
}

function both(client: Socket, server: Duplex): void {
  server.on("error", ignore);
  pipeline(client, server, ignore);
  pipeline(server, client, ignore);
}

function ignore(): void {}
