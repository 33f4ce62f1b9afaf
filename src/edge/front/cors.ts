import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

const limits = { preflightAgeSMax: 7200, requestedNamesLengthMax: 2000 } as const;

interface Request {
  readonly headers: IncomingHttpHeaders;
}

interface Response {
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  end(): unknown;
}

/** What clients of Connect, gRPC and gRPC-Web send and read, as the library has it, which is loaded with the first call. */
export const callHeaders = {
  allowed: [
    "Content-Type",
    "Connect-Protocol-Version",
    "Connect-Timeout-Ms",
    "Connect-Content-Encoding",
    "Connect-Accept-Encoding",
    "Content-Encoding",
    "Accept-Encoding",
    "Grpc-Message-Type",
    "X-Grpc-Web",
    "X-User-Agent",
    "Grpc-Timeout",
  ],
  exposed: ["Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin", "Content-Encoding", "Connect-Content-Encoding"],
} as const;

const allowedHeaders = [
  ...callHeaders.allowed,
  "Authorization",
  "Accept-Language",
  "Service-Consistency-Token",
  "Idempotency-Key",
  "X-Request-Id",
].join(", ");
const allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE";
/** A CloudEvent in binary mode comes with headers of any name, which the star stands for. */
const exposedHeaders = [...callHeaders.exposed, "Service-Consistency-Token", "Retry-After", "X-Request-Id", "*"].join(
  ", ",
);
const headerNames = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/;

const noHeaders: Readonly<Record<string, string>> = Object.freeze({});
const otherOrigin: Readonly<Record<string, string>> = Object.freeze({ vary: "Origin" });

/** Lets pages of the configured origins call; pages of any other are told nothing. */
export class Cors {
  readonly #allowed: ReadonlyMap<string, Readonly<Record<string, string>>>;

  constructor(origins: readonly string[]) {
    this.#allowed = new Map(
      origins.map((origin) => [
        origin,
        Object.freeze({
          vary: "Origin",
          "access-control-allow-origin": origin,
          "access-control-expose-headers": exposedHeaders,
        }),
      ]),
    );
  }

  get isOn(): boolean {
    return this.#allowed.size > 0;
  }

  /** Headers of a reply to this request. */
  headersFor(request: Request): Readonly<Record<string, string>> {
    if (!this.isOn) return noHeaders;
    const { origin } = request.headers;
    return (origin === undefined ? undefined : this.#allowed.get(origin)) ?? otherOrigin;
  }

  /** Answers a preflight. */
  preflight(request: Request, response: Response): void {
    const origin = request.headers.origin ?? "";
    if (!this.#allowed.has(origin)) {
      response.writeHead(403, { ...this.headersFor(request), "content-length": 0 });
      response.end();
      return;
    }
    const headers = request.headers["access-control-request-headers"] ?? "";
    const known = headers.length <= limits.requestedNamesLengthMax && headerNames.test(headers);
    response.writeHead(204, {
      vary: "Origin, Access-Control-Request-Headers",
      "access-control-allow-origin": origin,
      "access-control-allow-methods": allowedMethods,
      "access-control-allow-headers": known ? `${allowedHeaders}, ${headers}` : allowedHeaders,
      "access-control-max-age": String(limits.preflightAgeSMax),
    });
    response.end();
  }
}

export function isPreflight(request: Request & { readonly method?: string | undefined }): boolean {
  return request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
}
