import { isIP } from "node:net";
import { type EngineError, invalid } from "../../engine/errors.ts";
import { isLoopback } from "./address.ts";
import { notAdmitted } from "./refusal.ts";

/** What a browser says of a request, besides the request itself. */
export interface Approach {
  readonly method: string | undefined;
  /** `Host`, or `:authority`. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
}

export interface LocalGateOptions {
  /** Names that may be asked for: those of this machine, those that nobody else can let resolve to the server, or any. */
  readonly hosts: "loopback" | "own" | "any";
  /** Origins whose pages may call. */
  readonly origins: readonly string[];
  /** The address clients use, where it is set: its name is one of the server's own, as are those of the origins. */
  readonly publicUrl: string | undefined;
}

/**
 * Where a caller is let in for the place it calls from, every page in a browser at that place could use it. This
 * keeps pages out: those of other origins may not change anything, and a page can't make the server its own origin
 * by a name that it lets resolve to the server's address.
 */
export class LocalGate {
  readonly #hosts: LocalGateOptions["hosts"];
  readonly #origins: ReadonlySet<string>;
  readonly #ownHosts: ReadonlySet<string>;
  /** The last host found good, so that the requests of one client cost a comparison each. */
  #knownHost = "";

  constructor({ hosts, origins, publicUrl }: LocalGateOptions) {
    this.#hosts = hosts;
    this.#origins = new Set(origins);
    this.#ownHosts = new Set((publicUrl === undefined ? origins : [publicUrl, ...origins]).flatMap(hostOf));
  }

  /** Why the request is refused, if it is. */
  refusal({ method, host, origin }: Approach): EngineError | undefined {
    if (host !== undefined && host !== this.#knownHost) {
      const name = hostName(host);
      if (name === undefined) return invalid("Host", "must name the server");
      if (this.#hosts === "loopback" && !isLocalName(name)) {
        return notAdmitted(
          "authentication is off: the server answers only to localhost and loopback addresses; turn authentication on to serve other names",
        );
      }
      if (this.#hosts === "own" && !this.#isOwnName(host)) {
        return notAdmitted(
          "callers are known by their address: without TLS the server answers only to IP addresses, localhost and the hosts of SERVICE_PUBLIC_URL and SERVICE_CORS_ORIGINS",
        );
      }
      this.#knownHost = host;
    }
    if (origin === undefined || isRead(method) || this.#origins.has(origin)) return undefined;
    if (host !== undefined && isOriginOf(origin, host) && this.#isOwnName(host)) return undefined;
    return notAdmitted("pages of this origin may not call; SERVICE_CORS_ORIGINS lists those that may");
  }

  /** A name that nobody else can make resolve to this server. */
  #isOwnName(host: string): boolean {
    if (this.#ownHosts.has(host.toLowerCase())) return true;
    const name = hostName(host) ?? "";
    return isLocalName(name) || isIP(name) !== 0;
  }
}

function hostOf(address: string): string[] {
  return URL.canParse(address) ? [new URL(address).host] : [];
}

function isRead(method: string | undefined): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

function isOriginOf(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** Browsers resolve `localhost` and every name below it themselves, to loopback. */
function isLocalName(name: string): boolean {
  return isLoopback(name) || /(?:^|\.)localhost\.?$/i.test(name);
}

const authority = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._~-]+))(?::\d{0,5})?$/;

/** The host without its port and brackets. */
function hostName(host: string): string | undefined {
  const match = authority.exec(host);
  return match?.[1] ?? match?.[2];
}
