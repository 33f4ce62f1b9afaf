import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

export interface LiveFrontOptions {
  readonly rpc: {
    handles(target: string): boolean;
    handle(request: AnyRequest, response: AnyResponse): void;
  };
  readonly isReady: () => boolean;
}

/** The port of the Live engine has calls and the two paths that probes know, and nothing else. */
export function createLiveFront({ rpc, isReady }: LiveFrontOptions) {
  return (request: AnyRequest, response: AnyResponse): void => {
    const target = request.url ?? "";
    if (rpc.handles(target)) {
      rpc.handle(request, response);
      return;
    }
    request.resume();
    const path = target.split("?", 1)[0];
    if (path === "/health") answer(response, 200, { status: "ok" });
    else if (path === "/ready") answer(response, isReady() ? 200 : 503, { status: isReady() ? "ready" : "not ready" });
    else answer(response, 404, { error: "not_found", message: "the Live port serves RPCs of service.live.v1 alone" });
  };
}

function answer(response: AnyResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  (response as ServerResponse).writeHead(status, headers);
  (response as ServerResponse).end(text);
}
