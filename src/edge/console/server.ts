import { createHash } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { EngineError, reasons } from "../../engine/errors.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { callerOf } from "../auth/entrance.ts";
import type { RequestIds } from "../front/request-id.ts";
import { type Asset, etagOf, loadBundle } from "./bundle.ts";

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, sans-serif; margin: 15vh auto 0; max-width: 36rem; padding: 0 1.5rem; }
pre { background: #8882; border-radius: 8px; padding: .8rem 1rem; overflow: auto; }
`;

const missingPageStyleHash = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;

/** Shown at `/` while there is no bundle: the API works without it. */
const missingPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>native-engine</title><style>${style}</style></head>
<body><main><h1>The console is not built yet</h1>
<p>The service runs and its API answers; only the console's files are missing. Make them in the project's folder and
reload this page:</p>
<pre>npm run build:console</pre>
<p><a href="/docs">API reference and guides</a></p></main></body></html>`;

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

export interface ConsoleOptions {
  /** Where the bundle lies. */
  readonly folder: string;
  readonly authenticator: Pick<Authenticator, "screen">;
  readonly requestId: RequestIds;
  /** How people sign in at an identity provider, where the instance has one for its console. */
  readonly signIn?: ConsoleSignIn | undefined;
  readonly onRequest?: (route: string, method: string, status: number, ms: number) => void;
}

export interface ConsoleSignIn {
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
}

export interface ConsoleHandler {
  handles(target: string): boolean;
  handle(request: AnyRequest, response: AnyResponse): void;
}

const assetPrefix = "/console/";
/** What the page asks for before anybody has signed in. */
const signInPath = `${assetPrefix}sign-in.json`;
const immutableAgeS = 31_536_000;
const letterC = 0x63;

/** Serves the console's files. They hold no data, so that they need no credential; what the page shows it asks of the API. */
export function createConsole(options: ConsoleOptions): ConsoleHandler {
  return new Console(options);
}

class Console implements ConsoleHandler {
  readonly #options: ConsoleOptions;
  readonly #policy: string;
  readonly #signIn: Asset;
  #assets: ReadonlyMap<string, Asset> | undefined;

  constructor(options: ConsoleOptions) {
    this.#options = options;
    this.#assets = loadBundle(options.folder);
    this.#policy = contentPolicy(options.signIn);
    this.#signIn = jsonAsset(options.signIn ?? {});
  }

  handles(target: string): boolean {
    // Hot path: most requests are for `/v1/…`.
    const first = target.charCodeAt(1);
    if (first === letterC) return target.startsWith(assetPrefix);
    return target === "/" || target.startsWith("/?");
  }

  handle(request: AnyRequest, response: AnyResponse): void {
    const startMs = performance.now();
    // A caller that leaves is no error of ours; without a listener it would end the process.
    request.on("error", ignore);
    response.on("error", ignore);
    request.resume();
    const { method = "GET" } = request;
    const path = (request.url ?? "/").split("?", 1)[0]!;
    const status = this.#answer(request, response, method, path);
    this.#options.onRequest?.(path === "/" ? "/" : `${assetPrefix}*`, method, status, performance.now() - startMs);
  }

  #answer(request: AnyRequest, response: AnyResponse, method: string, path: string): number {
    const { authenticator, requestId } = this.#options;
    const common = { "x-request-id": requestId(request), "x-content-type-options": "nosniff" };
    const refused = authenticator.screen(callerOf(request));
    if (refused !== undefined) return sendError(response, method, refused, common);
    const asset = this.#find(path);
    if (asset === undefined && path !== "/") {
      return sendError(response, method, new EngineError("not_found", `no route ${method} ${path}`), common);
    }
    if (method !== "GET" && method !== "HEAD") {
      const message = `method: ${method} is not served here; use GET, HEAD`;
      return sendError(response, method, new EngineError("method_not_allowed", message), {
        ...common,
        allow: "GET, HEAD",
      });
    }
    if (asset === undefined) return sendMissing(response, method, common);
    return this.#send(request, response, method, asset, common);
  }

  #find(path: string): Asset | undefined {
    if (path === signInPath) return this.#signIn;
    // A bundle made after the start is found by the next visit.
    if (path === "/") this.#assets ??= loadBundle(this.#options.folder);
    const name = path === "/" ? "index.html" : path.slice(assetPrefix.length);
    return path === `${assetPrefix}index.html` ? undefined : this.#assets?.get(name);
  }

  #send(request: AnyRequest, response: AnyResponse, method: string, asset: Asset, common: OutgoingHttpHeaders): number {
    const accepted = String(request.headers["accept-encoding"] ?? "");
    const { encoding, body } = chooseEncoding(asset, accepted);
    const etag = `"${asset.etag}${encoding === undefined ? "" : `-${encoding}`}"`;
    const head: OutgoingHttpHeaders = {
      ...common,
      etag,
      vary: "Accept-Encoding",
      "cache-control": asset.immutable ? `public, max-age=${immutableAgeS}, immutable` : "no-cache",
      ...(asset.type.startsWith("text/html") ? pageHeaders(this.#policy) : {}),
    };
    if (holds(request.headers["if-none-match"], etag)) {
      return send(response, method, 304, head);
    }
    const extra = encoding === undefined ? {} : { "content-encoding": encoding };
    return send(response, method, 200, { ...head, "content-type": asset.type, ...extra }, body);
  }
}

/** Nothing comes from elsewhere, and nothing goes elsewhere but to the identity provider that people sign in at. */
function contentPolicy(signIn: ConsoleSignIn | undefined): string {
  const provider = signIn === undefined ? "" : ` ${new URL(signIn.issuer).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${provider}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function pageHeaders(policy: string): OutgoingHttpHeaders {
  return {
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
  };
}

function jsonAsset(value: unknown): Asset {
  const plain = Buffer.from(JSON.stringify(value));
  const type = "application/json; charset=utf-8";
  return {
    type,
    etag: etagOf(plain),
    immutable: false,
    plain,
    gzip: undefined,
    brotli: undefined,
  };
}

interface Encoded {
  readonly encoding: "br" | "gzip" | undefined;
  readonly body: Buffer;
}

function chooseEncoding(asset: Asset, accepted: string): Encoded {
  if (asset.brotli !== undefined && accepts(accepted, "br")) return { encoding: "br", body: asset.brotli };
  if (asset.gzip !== undefined && accepts(accepted, "gzip")) return { encoding: "gzip", body: asset.gzip };
  return { encoding: undefined, body: asset.plain };
}

function accepts(header: string, encoding: string): boolean {
  return header.split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    return name === encoding && !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each));
  });
}

function holds(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === etag);
}

function sendMissing(response: AnyResponse, method: string, common: OutgoingHttpHeaders): number {
  const headers = {
    ...common,
    ...pageHeaders(`default-src 'none'; style-src ${missingPageStyleHash}; frame-ancestors 'none'`),
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
  };
  return send(response, method, 503, headers, Buffer.from(missingPage));
}

function sendError(response: AnyResponse, method: string, error: EngineError, headers: OutgoingHttpHeaders): number {
  const { http, rest } = reasons[error.reason];
  const body = Buffer.from(JSON.stringify({ error: rest, message: error.message, ...error.details }));
  return send(response, method, http, { ...headers, "content-type": "application/json; charset=utf-8" }, body);
}

function send(
  response: AnyResponse,
  method: string,
  status: number,
  headers: OutgoingHttpHeaders,
  body?: Buffer,
): number {
  // Both forms take these calls; their types agree on none.
  const sent = response as ServerResponse;
  sent.writeHead(status, body === undefined ? headers : { ...headers, "content-length": body.byteLength });
  if (body === undefined || method === "HEAD") sent.end();
  else sent.end(body);
  return status;
}

function ignore(): void {}
