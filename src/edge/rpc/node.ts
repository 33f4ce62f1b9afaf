import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { ContextValues } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { ByteAccount } from "../wire/byte-budget.ts";

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type AnyNodeResponse = ServerResponse | Http2ServerResponse;

/** What this edge uses of the responses of both HTTP versions, whose own types do not go together. */
export interface NodeResponse {
  readonly headersSent: boolean;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  write(chunk: Uint8Array): boolean;
  addTrailers(headers: Record<string, string>): void;
  end(chunk: Uint8Array): unknown;
  end(): unknown;
  on(event: "drain" | "close" | "finish" | "error", listener: () => void): unknown;
  off(event: "drain" | "close" | "finish" | "error", listener: () => void): unknown;
}

/** Whether nobody reads the reply any more. */
export function isGone(request: NodeRequest): boolean {
  if ("stream" in request) return request.stream.destroyed || request.stream.closed;
  // Node takes the socket away from a request that was broken off.
  return request.socket?.destroyed ?? true;
}

export function header(request: NodeRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** The server as the caller names it. */
function authorityOf(request: NodeRequest): string | undefined {
  const { ":authority": authority, host } = request.headers;
  return typeof authority === "string" ? authority : host;
}

export function pathOf(request: NodeRequest): string {
  const url = request.url ?? "";
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

/** The body, of which the rest may be left unread: the reply still has to go out on the same stream. */
function bodyOf(request: NodeRequest): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) };
}

export function headersOf(request: NodeRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    if (typeof value === "string") headers.set(name, value);
    else for (const each of value) headers.append(name, each);
  }
  return headers;
}

export function urlOf(request: NodeRequest): string {
  const scheme = "encrypted" in request.socket && request.socket.encrypted === true ? "https" : "http";
  return `${scheme}://${authorityOf(request)}${request.url}`;
}

/**
 * A request in the form that the library takes. Its own adapter would also abort the signal of a call that has been
 * answered, which costs more than all else it does; `signal` is ours and aborted only for a caller that leaves early.
 */
export function universalRequest(
  request: NodeRequest,
  signal: AbortSignal,
  contextValues: ContextValues,
  meter: BodyMeter,
): UniversalServerRequest {
  return {
    httpVersion: request.httpVersion,
    method: request.method ?? "",
    url: urlOf(request),
    header: headersOf(request),
    body: meteredBody(bodyOf(request), meter),
    signal,
    contextValues,
  };
}

export interface BodyMeter {
  readonly account: ByteAccount;
  /** What of the body counts at most: a stream's messages go one after another. */
  readonly countedBytesMax: number;
  /** What it may be at most. */
  readonly bytesMax: number;
}

/** Counts what has come of a body; throws where it is too long or there is no room for it. */
export function countBytes({ account, countedBytesMax, bytesMax }: BodyMeter, bytes: number): void {
  if (bytes > bytesMax) {
    throw new ConnectError(`the call is larger than ${bytesMax} bytes`, Code.ResourceExhausted);
  }
  if (!account.hold(Math.min(bytes, countedBytesMax))) {
    throw new ConnectError("too many bytes of requests are under way; retry", Code.Unavailable);
  }
}

/** A body that is counted as it comes. */
async function* meteredBody(body: AsyncIterable<Uint8Array>, meter: BodyMeter): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    countBytes(meter, bytes);
    yield chunk;
  }
}
