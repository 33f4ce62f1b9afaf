import { type IncomingMessage, request } from "node:http";
import { isIPv6 } from "node:net";
import type { Principal } from "../../engine/auth/principal.ts";
import { unavailable } from "../../engine/errors.ts";
import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import { isLoopback, plainAddress } from "./address.ts";
import type { MeshConfig } from "./config.ts";
import { notAdmitted, unauthenticated } from "./refusal.ts";

export const meshLimits = {
  answerWaitMs: 2_000,
  answerBytesMax: 256 * 1024,
  /** Questions under way at a time; one address asks once. */
  questionsMax: 64,
  answersKept: 2_000,
  answerKeptMs: 5_000,
  displayCharactersMax: 200,
} as const;

export interface MeshOptions {
  readonly config: MeshConfig;
  readonly clock: Clock;
  /** Told once when the daemon is lost and once when it is back. */
  readonly report: (message: string) => void;
}

interface Peer {
  readonly login: string;
  readonly userId: string;
  readonly displayName: string;
  readonly nodeId: string;
  readonly nodeName: string;
  readonly tags: readonly string[];
}

/**
 * Users of a mesh network, by the address their connection comes from: the mesh daemon on this machine knows to
 * whom it belongs. Only the peer address of the socket counts, never what a header says.
 */
export class MeshIdentifier {
  readonly #options: MeshOptions;
  readonly #known = new LruMap<string, { readonly peer: Peer | undefined; readonly untilMs: number }>(
    meshLimits.answersKept,
  );
  readonly #asking = new Map<string, Promise<Peer | undefined>>();
  readonly #closed = new AbortController();
  #lost = false;

  constructor(options: MeshOptions) {
    this.#options = options;
  }

  close(): void {
    this.#closed.abort();
  }

  async identify(remoteAddress: string, remotePort: number | undefined): Promise<Principal> {
    if (remoteAddress === "" || remotePort === undefined) throw unauthenticated("the connection has no peer address");
    const peer = await this.#peerAt(plainAddress(remoteAddress), remotePort);
    if (peer === undefined) throw unauthenticated("no credential, and the peer is not known to the mesh");
    return admitPeer(peer, this.#options.config);
  }

  async #peerAt(address: string, port: number): Promise<Peer | undefined> {
    const { clock } = this.#options;
    const place = isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
    const known = this.#known.get(place);
    if (known !== undefined && clock.steadyMs() < known.untilMs) return known.peer;
    let asking = this.#asking.get(place);
    if (asking === undefined) {
      if (this.#asking.size >= meshLimits.questionsMax) throw unavailable("too many questions to the mesh at a time");
      asking = this.#ask(place).finally(() => this.#asking.delete(place));
      this.#asking.set(place, asking);
    }
    const peer = await asking;
    // A daemon without a network interface of its own hands connections on from loopback ports, which soon serve
    // another peer: those are asked for each time.
    if (!isLoopback(address)) {
      this.#known.set(place, { peer, untilMs: clock.steadyMs() + meshLimits.answerKeptMs });
    }
    return peer;
  }

  async #ask(place: string): Promise<Peer | undefined> {
    const { config, report } = this.#options;
    let peer: Peer | undefined;
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(meshLimits.answerWaitMs), this.#closed.signal]);
      const answer = await get(config.socketPath, `/localapi/v0/whois?addr=${encodeURIComponent(place)}`, signal);
      peer = answer === undefined ? undefined : parsePeer(answer);
    } catch (cause) {
      if (!this.#lost && !this.#closed.signal.aborted) {
        this.#lost = true;
        report(
          `the mesh daemon at ${config.socketPath} can't be used: ${cause instanceof Error ? cause.message : cause}`,
        );
      }
      throw unavailable("the mesh daemon can't be reached; try again");
    }
    if (this.#lost) {
      this.#lost = false;
      report("the mesh daemon answers again");
    }
    return peer;
  }
}

function admitPeer(peer: Peer, { allowedUsers, defaultRole }: MeshConfig): Principal {
  const common = { role: defaultRole, method: "mesh" } as const;
  // A tagged machine belongs to no user; all of them share one login name, so only a tag can let them in.
  if (peer.tags.length > 0) {
    if (!peer.tags.some((tag) => allowedUsers.includes(tag)))
      throw notAdmitted("this machine's tags are not on the allowlist");
    return { id: peer.nodeId, kind: "service_account", displayName: peer.nodeName, ...common };
  }
  if (allowedUsers.length > 0 && !allowedUsers.includes(peer.login))
    throw notAdmitted("this user is not on the allowlist");
  const principal: Principal = { id: peer.userId, kind: "user", displayName: peer.displayName, ...common };
  return /^[^@]+@[^@]+\.[^@]+$/.test(peer.login) ? { ...principal, email: peer.login } : principal;
}

/** Reads a whois answer. One that lacks what identifies the peer is an error, so that nobody is let in by it. */
function parsePeer(text: string): Peer {
  const { Node: node, UserProfile: user } = JSON.parse(text) as { Node?: unknown; UserProfile?: unknown };
  if (!isObject(node) || !isObject(user)) throw new Error("its whois answer has no node or user");
  const { ID: userId, LoginName: login, DisplayName: displayName } = user;
  const { StableID: stableId, ID: numericId, Name: name, Tags: tags } = node;
  if (typeof login !== "string" || login === "") throw new Error("its whois answer has no login name");
  if (tags !== undefined && tags !== null && !(Array.isArray(tags) && tags.every((tag) => typeof tag === "string"))) {
    throw new Error("its whois answer has tags that can't be read");
  }
  const nodeId = idText(stableId) ?? idText(numericId);
  const ownerId = idText(userId);
  if (nodeId === undefined || ownerId === undefined) throw new Error("its whois answer has no ids");
  return {
    login: login.toLowerCase(),
    userId: ownerId,
    displayName: display(displayName) ?? login,
    nodeId: `mesh-node:${nodeId}`,
    nodeName: display(name)?.replace(/\.$/, "") ?? nodeId,
    tags: ((tags ?? []) as string[]).map((tag) => tag.toLowerCase()),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function idText(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function display(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, meshLimits.displayCharactersMax) : undefined;
}

/** The body of a 200, or undefined for a 404: the daemon's way to say that it knows no such peer. */
function get(socketPath: string, path: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(
      // The daemon refuses other host names, to keep web pages out.
      { socketPath, path, method: "GET", headers: { host: "local-tailscaled.sock" }, agent: false, signal },
      (response) => {
        readBody(response).then((body) => {
          if (response.statusCode === 200) resolve(body);
          else if (response.statusCode === 404) resolve(undefined);
          else reject(new Error(`it answered with status ${response.statusCode}`));
        }, reject);
      },
    );
    call.on("error", reject);
    call.end();
  });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > meshLimits.answerBytesMax) throw new Error("it answered with too much");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
