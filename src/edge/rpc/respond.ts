import type { OutgoingHttpHeaders } from "node:http";
import { constants } from "node:http2";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressedFlag, encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  createEndStreamSerialization,
  endStreamFlag,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { findTrailerError, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { rpcLimits } from "./limits.ts";
import { jsonOptions } from "./message-parts.ts";
import { isGone, type NodeRequest, type NodeResponse } from "./node.ts";

/** The caller's protocol, by its content type alone. */
export type Protocol = "connect" | "connect-stream" | "grpc" | "grpc-web";

export function protocolOf(contentType: string | undefined): Protocol {
  const type = contentType?.toLowerCase() ?? "";
  if (type.startsWith("application/grpc-web")) return "grpc-web";
  if (type.startsWith("application/grpc")) return "grpc";
  if (type.startsWith("application/connect+")) return "connect-stream";
  return "connect";
}

/**
 * Writes replies and errors in the caller's protocol.
 *
 * Errors that the library raises before any interceptor runs (a body it can't read, one too large) pass by here on
 * their way out, and get what every other error has.
 */

export type Explain = (error: ConnectError) => ConnectError;

const endStream = createEndStreamSerialization(undefined);
const envelopeHeadBytes = 5;

/** Headers that every answer to a call carries. */
export type ExtraHeaders = Readonly<Record<string, string>>;

function nodeHeaders(source: Headers, extra: ExtraHeaders = {}): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ...extra };
  for (const [key, value] of source) headers[key] = value;
  return headers;
}

const errorBytesMax = 64 * 1024 * 1024;

/** An error long enough to have been compressed is read again and goes out plain. */
function plain(data: Uint8Array, encoding: string | null): Uint8Array {
  const options = { maxOutputLength: errorBytesMax };
  if (encoding === "gzip") return gunzipSync(data, options);
  if (encoding === "br") return brotliDecompressSync(data, options);
  return data;
}

/** The error in the body of a failed unary Connect call. */
function readError(body: Uint8Array): ConnectError {
  const fallback = new ConnectError("internal error", Code.Internal);
  try {
    return errorFromJsonBytes(body as Uint8Array<ArrayBuffer>, undefined, fallback);
  } catch {
    return fallback;
  }
}

/** The last envelope of a stream holds its outcome; others pass unchanged. */
function explainEnvelope(chunk: Uint8Array, protocol: Protocol, header: Headers, explain: Explain): Uint8Array {
  // Its outcome is in the trailers, and a chunk need not be a whole envelope.
  if (protocol === "grpc") return chunk;
  const flags = chunk[0] ?? 0;
  if ((flags & (protocol === "grpc-web" ? trailerFlag : endStreamFlag)) === 0) return chunk;
  const encoding = header.get(protocol === "grpc-web" ? "grpc-encoding" : "connect-content-encoding");
  const data = plain(chunk.subarray(envelopeHeadBytes), (flags & compressedFlag) === 0 ? null : encoding);
  if (protocol === "connect-stream") {
    const end = endStream.parse(data as Uint8Array<ArrayBuffer>);
    if (end.error === undefined) return chunk;
    return encodeEnvelope(endStreamFlag, endStream.serialize({ ...end, error: explain(end.error) }));
  }
  if (protocol === "grpc-web") {
    const trailer = trailerParse(data);
    if (!explainTrailer(trailer, explain)) return chunk;
    return encodeEnvelope(trailerFlag, trailerSerialize(trailer) as Uint8Array<ArrayBuffer>);
  }
  return chunk;
}

function explainTrailer(trailer: Headers, explain: Explain): boolean {
  const status = trailer.get("grpc-status");
  if (status === null || status === "0" || trailer.has("grpc-status-details-bin")) return false;
  const error = findTrailerError(trailer);
  if (error === undefined) return false;
  // The trailer holds its metadata already.
  const explained = explain(new ConnectError(error.rawMessage, error.code));
  setTrailerStatus(trailer, explained);
  return true;
}

/** Resolves when the reply can take more, or nobody reads it any more. */
export async function drained(request: NodeRequest, response: NodeResponse): Promise<void> {
  if (isGone(request)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}

/** A reply that the library answers with a bare status. */
const bareStatuses: Readonly<Record<number, readonly [Code, string]>> = {
  405: [Code.Unimplemented, "method not allowed: use POST"],
  415: [Code.InvalidArgument, "unsupported content type"],
  505: [Code.Unimplemented, "this call streams both ways and needs HTTP/2"],
};

export async function writeReply(
  reply: UniversalServerResponse,
  request: NodeRequest,
  response: NodeResponse,
  protocol: Protocol,
  extra: ExtraHeaders,
  explain: Explain,
): Promise<void> {
  const { header = new Headers(), trailer, body } = reply;
  const bare = bareStatuses[reply.status];
  if (bare !== undefined) {
    if (reply.status === 405) header.set("allow", "POST");
    const error = new ConnectError(bare[1], bare[0]);
    sendJson(request, response, reply.status, header, extra, errorToJsonBytes(explain(error), jsonOptions));
    return;
  }
  if (protocol === "connect") {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body ?? []) chunks.push(chunk);
    const whole = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    if (reply.status === 200) {
      response.writeHead(200, nodeHeaders(header, extra));
      response.end(whole);
      return;
    }
    const error = explain(readError(plain(whole, header.get("content-encoding"))));
    header.delete("content-encoding");
    sendJson(request, response, codeToHttpStatus(error.code), header, extra, errorToJsonBytes(error, jsonOptions));
    return;
  }
  await writeStream(body ?? [], request, response, protocol, { status: reply.status, header, trailer, extra }, explain);
}

interface StreamHead {
  readonly status: number;
  readonly header: Headers;
  readonly trailer: Headers | undefined;
  readonly extra: ExtraHeaders;
}

async function writeStream(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  request: NodeRequest,
  response: NodeResponse,
  protocol: Protocol,
  { status, header, trailer, extra }: StreamHead,
  explain: Explain,
): Promise<void> {
  for await (const chunk of body) {
    if (isGone(request)) return;
    if (!response.headersSent) response.writeHead(status, nodeHeaders(header, extra));
    if (!response.write(explainEnvelope(chunk, protocol, header, explain))) await drained(request, response);
  }
  if (isGone(request)) return;
  if (!response.headersSent) response.writeHead(status, nodeHeaders(header, extra));
  if (trailer !== undefined) {
    explainTrailer(trailer, explain);
    response.addTrailers(nodeHeaders(trailer) as Record<string, string>);
  }
  response.end();
  abandonRequest(request);
}

/** What the caller still sends is read and dropped, within bounds: a reset would race with the reply. */
function abandonRequest(request: NodeRequest): void {
  if (request.complete) return;
  let dropped = 0;
  request.on("data", (chunk: Uint8Array) => {
    dropped += chunk.byteLength;
    if (dropped <= rpcLimits.dropBytesMax) return;
    if ("stream" in request) request.stream.close(constants.NGHTTP2_NO_ERROR);
    else request.destroy();
  });
  // A proxy may have paused it.
  request.resume();
}

function sendJson(
  request: NodeRequest,
  response: NodeResponse,
  status: number,
  header: Headers,
  extra: ExtraHeaders,
  body: Uint8Array,
): void {
  header.set("content-type", "application/json");
  header.set("content-length", String(body.byteLength));
  response.writeHead(status, nodeHeaders(header, extra));
  response.end(body);
  abandonRequest(request);
}

/** Refuses a call without reading it. */
export function writeError(
  error: ConnectError,
  request: NodeRequest,
  response: NodeResponse,
  protocol: Protocol,
  extra: ExtraHeaders,
): void {
  if (isGone(request)) return;
  const header = new Headers();
  const contentType = request.headers["content-type"] ?? "";
  switch (protocol) {
    case "connect": {
      error.metadata.forEach((value, key) => {
        header.set(key, value);
      });
      sendJson(request, response, codeToHttpStatus(error.code), header, extra, errorToJsonBytes(error, jsonOptions));
      return;
    }
    case "connect-stream": {
      const end = endStream.serialize({ metadata: new Headers(), error });
      header.set("content-type", contentType);
      response.writeHead(200, nodeHeaders(header, extra));
      response.end(encodeEnvelope(endStreamFlag, end));
      abandonRequest(request);
      return;
    }
    case "grpc":
    case "grpc-web": {
      // Trailers only: with nothing else to say, the status travels in the head, which has to end the stream itself.
      header.set("content-type", contentType);
      setTrailerStatus(header, error);
      if ("stream" in request) request.stream.respond(nodeHeaders(header, extra), { endStream: true });
      else {
        response.writeHead(200, nodeHeaders(header, extra));
        response.end();
      }
      abandonRequest(request);
      return;
    }
  }
}
