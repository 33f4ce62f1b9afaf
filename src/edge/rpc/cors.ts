import { cors as needed } from "@connectrpc/connect";
import { rpcLimits } from "./limits.ts";
import { header, type NodeRequest, type NodeResponse } from "./node.ts";

const allowedHeaders = [
  ...needed.allowedHeaders,
  "Authorization",
  "Accept-Language",
  "Service-Consistency-Token",
  "Idempotency-Key",
].join(", ");
const exposedHeaders = [...needed.exposedHeaders, "Service-Consistency-Token", "Retry-After"].join(", ");

/** Lets pages of the configured origins call; pages of any other are told nothing. */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Headers of a reply to this request. */
  headersFor(request: NodeRequest): Headers {
    const headers = new Headers();
    if (this.#origins.size === 0) return headers;
    headers.set("vary", "Origin");
    const origin = header(request, "origin");
    if (origin === undefined || !this.#origins.has(origin)) return headers;
    headers.set("access-control-allow-origin", origin);
    headers.set("access-control-expose-headers", exposedHeaders);
    return headers;
  }

  /** Answers a preflight, which is the only OPTIONS request there is. */
  preflight(request: NodeRequest, response: NodeResponse): void {
    const headers = this.headersFor(request);
    const allowed = headers.has("access-control-allow-origin");
    if (allowed) {
      headers.delete("access-control-expose-headers");
      headers.set("access-control-allow-methods", needed.allowedMethods.join(", "));
      headers.set("access-control-allow-headers", allowedHeaders);
      headers.set("access-control-max-age", String(rpcLimits.preflightAgeSMax));
    }
    response.writeHead(allowed ? 204 : 403, Object.fromEntries(headers));
    response.end();
  }
}
