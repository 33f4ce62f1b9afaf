import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { EngineError, reasons } from "../../engine/errors.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { callerOf } from "../auth/entrance.ts";
import type { RequestIds } from "./request-id.ts";

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

export interface LiveFrontOptions {
  readonly rpc: {
    handles(target: string): boolean;
    handle(request: AnyRequest, response: AnyResponse): void;
  };
  readonly authenticator: Pick<Authenticator, "screen">;
  readonly requestId: RequestIds;
  readonly isReady: () => boolean;
}

/** The port of the Live engine has calls and the two paths that probes know, and nothing else. */
export function createLiveFront(options: LiveFrontOptions) {
  const { rpc, requestId } = options;
  return (request: AnyRequest, response: AnyResponse): void => {
    if (rpc.handles(request.url ?? "")) {
      rpc.handle(request, response);
      return;
    }
    // A caller that leaves is no error of ours; without a listener it would end the process.
    request.on("error", ignore);
    response.on("error", ignore);
    request.resume();
    const { status, body, headers = {} } = probe(request, options);
    const text = JSON.stringify(body);
    (response as ServerResponse).writeHead(status, {
      "x-request-id": requestId(request),
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
      ...headers,
    });
    (response as ServerResponse).end(request.method === "HEAD" ? undefined : text);
  };
}

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

function probe(request: AnyRequest, { authenticator, isReady }: LiveFrontOptions): Answer {
  const { method = "GET" } = request;
  const refused = authenticator.screen(callerOf(request));
  if (refused !== undefined) return refusal(refused);
  const path = (request.url ?? "").split("?", 1)[0];
  if (path !== "/health" && path !== "/ready") {
    return refusal(new EngineError("not_found", "the Live port serves calls of service.live.v1 alone"));
  }
  if (method !== "GET" && method !== "HEAD") {
    const message = `method: ${method} is not served here; use GET, HEAD`;
    return { ...refusal(new EngineError("method_not_allowed", message)), headers: { allow: "GET, HEAD" } };
  }
  if (path === "/health") return { status: 200, body: { status: "ok" } };
  return isReady() ? { status: 200, body: { status: "ready" } } : { status: 503, body: { status: "not ready" } };
}

function refusal({ reason, message, details }: EngineError): Answer {
  const { http, rest } = reasons[reason];
  return { status: http, body: { error: rest, message, ...details } };
}

function ignore(): void {}
