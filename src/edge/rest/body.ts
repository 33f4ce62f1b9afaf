import { isAscii, isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { EngineError, invalid } from "../../engine/errors.ts";
import { limits } from "../../engine/limits.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The handler takes the body as bytes, whatever its content type. */
    readonly rawBody?: boolean;
  }
  interface FastifyRequest {
    /** The body's bytes, kept for requests that are recorded by an idempotency key. */
    rawBody: Buffer | undefined;
  }
}

const jsonType = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json\s*(?:;|$)/i;
const foreignCharset = /;\s*charset\s*=\s*"?(?!utf-?8)/i;

function tooLarge(): EngineError {
  return new EngineError("body_too_large", `body: is larger than ${limits.bodyBytesMax} bytes`, {
    details: { field: "body" },
  });
}

/**
 * Collects a body of at most 16 MiB. What is over the limit is refused at once; the HTTP server discards the rest of
 * it without storing it, so that the client can read the answer.
 */
function readBody(request: FastifyRequest, payload: NodeJS.ReadableStream): Promise<Buffer> {
  const declared = Number(request.headers["content-length"]);
  if (declared > limits.bodyBytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let bytes = 0;
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.bodyBytesMax) {
        payload.removeListener("data", onData);
        payload.resume();
        reject(tooLarge());
      } else if (first === undefined) first = chunk;
      else if (chunks === undefined) chunks = [first, chunk];
      else chunks.push(chunk);
    };
    payload.on("data", onData);
    payload.once("end", () =>
      resolve(chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, bytes)),
    );
    payload.once("error", reject);
    payload.once("aborted", () => reject(invalid("body", "the request ended before its body was complete")));
  });
}

function parseJson(body: Buffer): unknown {
  let text: string;
  if (isAscii(body)) text = body.latin1Slice();
  else if (isUtf8(body)) text = body.toString();
  else throw invalid("body", "is not valid UTF-8");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid("body", `is not valid JSON: ${(error as Error).message}`);
  }
}

export function registerBodyParser(app: FastifyInstance): void {
  app.decorateRequest("rawBody", undefined);
  app.removeAllContentTypeParsers();
  app.addHook("onRequest", (request, _reply, done) => {
    // The framework refuses types that it can't read before any parser sees them. A handler of raw bodies judges the
    // type by itself, from the raw headers.
    if (request.routeOptions.config.rawBody === true && request.headers["content-type"] !== undefined) {
      request.raw.headers["content-type"] = "application/octet-stream";
    }
    done();
  });
  app.addContentTypeParser("*", async (request: FastifyRequest, payload: NodeJS.ReadableStream) => {
    const contentType = request.headers["content-type"];
    const { rawBody = false } = request.routeOptions.config;
    if (!rawBody && contentType !== undefined && (!jsonType.test(contentType) || foreignCharset.test(contentType))) {
      throw new EngineError(
        "unsupported_media_type",
        `content-type: ${JSON.stringify(contentType)} is not supported; send application/json`,
        { details: { field: "content-type" } },
      );
    }
    const body = await readBody(request, payload);
    if (rawBody) return body;
    if (request.headers["idempotency-key"] !== undefined) request.rawBody = body;
    return body.length === 0 ? undefined : parseJson(body);
  });
}
