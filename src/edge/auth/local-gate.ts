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
  /** Whether only names of this machine itself may be asked for. */
  readonly loopbackOnly: boolean;
  /** Origins whose pages may call. */
  readonly origins: readonly string[];
  /** The address clients use, where it is set: its name is one of the server's own. */
  readonly publicUrl: string | undefined;
}

/**
 * Where a caller is let in for the place it calls from, every page in a browser at that place could use it. This
 * keeps pages out: those of other origins may not change anything, and a page can't make the server its own origin
 * by a name that it lets resolve to the server's address.
 */
export class LocalGate {
  readonly #loopbackOnly: boolean;
  readonly #origins: ReadonlySet<string>;
  readonly #publicHost: string | undefined;
  /** The last host found good, so that the requests of one client cost a comparison each. */
  #knownHost = "";

  constructor({ loopbackOnly, origins, publicUrl }: LocalGateOptions) {
    this.#loopbackOnly = loopbackOnly;
    this.#origins = new Set(origins);
    this.#publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).host;
  }

  /** Why the request is refused, if it is. */
  refusal({ method, host, origin }: Approach): EngineError | undefined {
    if (host !== undefined && host !== this.#knownHost) {
      const name = hostName(host);
      if (name === undefined) return invalid("Host", "must name the server");
      if (this.#loopbackOnly && !isLocalName(name)) {
        return notAdmitted(
          "authentication is off: the server answers only to localhost and loopback addresses; turn authentication on to serve other names",
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
    if (host === this.#publicHost) return true;
    const name = hostName(host) ?? "";
    return isLocalName(name) || isIP(name) !== 0;
  }
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
