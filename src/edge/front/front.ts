import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { type Cors, isPreflight } from "./cors.ts";

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;
type Handler = (request: AnyRequest, response: AnyResponse) => void;

export interface FrontOptions {
  readonly rest: Handler;
  readonly rpc: {
    handles(target: string): boolean;
    handle(request: AnyRequest, response: AnyResponse): void;
  };
  readonly console: {
    handles(target: string): boolean;
    handle(request: AnyRequest, response: AnyResponse): void;
  };
  readonly cors: Cors;
}

/** Hands each request of the one port to the edge that its path belongs to. */
export function createFront({ rest, rpc, console, cors }: FrontOptions): Handler {
  const restForPages: Handler = (request, response) => {
    const { origin } = request.headers;
    if (origin !== undefined && isPreflight(request)) {
      cors.preflight(request, response);
      return;
    }
    for (const [name, value] of Object.entries(cors.headersFor(request))) response.setHeader(name, value);
    rest(request, response);
  };
  const toRest = cors.isOn ? restForPages : rest;
  return (request, response) => {
    const target = request.url ?? "";
    if (rpc.handles(target)) rpc.handle(request, response);
    else if (console.handles(target)) console.handle(request, response);
    else toRest(request, response);
  };
}
