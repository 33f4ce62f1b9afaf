import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { AnyRequest, AnyResponse } from "../../listener/registry.ts";

const retryAfterSeconds = "1";

/** Says in the caller's protocol that nobody can answer now. */
export function refuseUnavailable(request: AnyRequest, response: AnyResponse, message: string): void {
  const type = request.headers["content-type"] ?? "";
  const path = request.url ?? "";
  const isCall = /^\/(?:service|grpc|arrow)\.[\w.]+\/\w+/.test(path);
  if (type.startsWith("application/grpc")) {
    const status = { "grpc-status": "14", "grpc-message": encodeURIComponent(message) };
    send(response, 200, { "content-type": type, ...status, "retry-after": retryAfterSeconds }, "");
    return;
  }
  const body = isCall ? { code: "unavailable", message } : { error: "unavailable", message };
  const headers = { "content-type": "application/json", "retry-after": retryAfterSeconds };
  send(response, 503, headers, JSON.stringify(body));
}

export function sendJson(request: AnyRequest, response: AnyResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  const headers = {
    "content-type": "application/json; charset=utf-8",
    ...(status === 405 && { allow: "GET, HEAD" }),
    ...(status === 503 && { "retry-after": retryAfterSeconds }),
  };
  send(response, status, headers, request.method === "HEAD" ? "" : text);
}

function send(response: AnyResponse, status: number, headers: OutgoingHttpHeaders, body: string): void {
  if (response.headersSent || response.destroyed) return;
  (response as ServerResponse).writeHead(status, headers);
  (response as ServerResponse).end(body);
}
