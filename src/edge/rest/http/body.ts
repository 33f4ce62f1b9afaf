import { isAscii, isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { EngineError, invalid, unavailable } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import type { ByteAccount, ByteBudget } from "../../wire/byte-budget.ts";
import { parseBody } from "./exact-sources.ts";
import { parseLargeJson } from "./large-json.ts";

export type Decode = (body: Buffer, request: FastifyRequest) => unknown;

/** A body that its route has decoded, and checked with that: no schema looks at it. */
export class DecodedBody {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The handler takes the body as bytes, whatever its content type. */
    readonly rawBody?: boolean;
    /** Reads a body of the plainest form, without JSON and schema; undefined leaves it to them. */
    readonly decode?: Decode | undefined;
  }
  interface FastifyRequest {
    /** The body's bytes, kept for requests that are recorded by an idempotency key. */
    rawBody: Buffer | undefined;
    /** The answer to come: what the request holds is given back when it is over. */
    response: FastifyReply["raw"] | undefined;
  }
}

/** Bodies larger than this are parsed in pieces. */
const largeBytesMin = 256 * 1024;

const jsonType = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/** Whether the body is JSON by its type; JSON is UTF-8, whatever a charset says. */
function isJson(contentType: string): boolean {
  const [, name = "utf-8"] = charset.exec(contentType) ?? [];
  return jsonType.test(contentType) && /^utf-?8$/i.test(name);
}

/** Bodies come as they are. Read without a look at this header, a compressed one would be refused as broken JSON, or kept. */
function checkEncoding(encoding: string | undefined): void {
  if (encoding === undefined || /^\s*(?:identity)?\s*$/i.test(encoding)) return;
  throw new EngineError(
    "unsupported_media_type",
    `content-encoding: ${JSON.stringify(encoding.slice(0, 100))} is not supported; send the body as it is`,
    { details: { field: "content-encoding" } },
  );
}

function tooLarge(): EngineError {
  return new EngineError("body_too_large", `body: is larger than ${limits.bodyBytesMax} bytes`, {
    details: { field: "body" },
  });
}

/**
 * Collects a body of at most 16 MiB. What is over the limit is refused at once; the HTTP server discards the rest of
 * it without storing it, so that the client can read the answer.
 */
function readBody(request: FastifyRequest, payload: NodeJS.ReadableStream, account: ByteAccount): Promise<Buffer> {
  const declared = Number(request.headers["content-length"]);
  if (declared > limits.bodyBytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let bytes = 0;
    let refused = false;
    /** What has come is free at once, and its room is others': the rest may take long to come. */
    const letGo = () => {
      first = chunks = undefined;
      account.release();
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.bodyBytesMax) {
        letGo();
        payload.removeListener("data", onData);
        payload.resume();
        reject(tooLarge());
      } else if (refused || !account.hold(bytes)) {
        // Read to its end without keeping it: many clients can't take an answer before they have sent everything.
        refused = true;
        letGo();
      } else if (first === undefined) first = chunk;
      else if (chunks === undefined) chunks = [first, chunk];
      else chunks.push(chunk);
    };
    payload.on("data", onData);
    payload.once("end", () => {
      if (refused) reject(unavailable("too many bytes of requests are under way; retry"));
      else resolve(chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, bytes));
    });
    payload.once("error", reject);
    payload.once("aborted", () => reject(invalid("body", "the request ended before its body was complete")));
  });
}

/** Some writers put a byte order mark before UTF-8, where it says nothing. */
export function withoutMark(body: Buffer): Buffer {
  const isMarked = body.length >= 3 && body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return isMarked ? body.subarray(3) : body;
}

/** Frees a large body now: the runtime would keep tens of megabytes of them before it looks for garbage. */
function giveBack(body: Buffer): void {
  // One that came in one piece lies in memory that belongs to the connection.
  if (body.buffer instanceof ArrayBuffer && body.buffer.byteLength === body.length) body.buffer.transfer(0);
}

export function parseJson(body: Buffer): unknown {
  return parseUnmarked(withoutMark(body));
}

function parseUnmarked(body: Buffer): unknown {
  let text: string;
  if (isAscii(body)) text = body.latin1Slice();
  else if (isUtf8(body)) text = body.toString();
  else throw invalid("body", "is not valid UTF-8");
  try {
    return parseBody(text);
  } catch (error) {
    throw invalid("body", `is not valid JSON: ${(error as Error).message}`);
  }
}

export function registerBodyParser(app: FastifyInstance, budget: ByteBudget): void {
  app.decorateRequest("rawBody", undefined);
  app.decorateRequest("response", undefined);
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
    const { rawBody = false, decode } = request.routeOptions.config;
    checkEncoding(request.headers["content-encoding"]);
    if (!rawBody && contentType !== undefined && !isJson(contentType)) {
      throw new EngineError(
        "unsupported_media_type",
        `content-type: ${JSON.stringify(contentType)} is not supported; send application/json`,
        { details: { field: "content-type" } },
      );
    }
    const account = budget.account();
    request.response?.once("close", () => account.release());
    const read = await readBody(request, payload, account);
    if (rawBody) return read;
    const body = withoutMark(read);
    if (request.headers["idempotency-key"] !== undefined) request.rawBody = body;
    if (body.length === 0) return undefined;
    if (body.length <= largeBytesMin) {
      const decoded = decode?.(body, request);
      return decoded === undefined ? parseUnmarked(body) : new DecodedBody(decoded);
    }
    const parsed = (isUtf8(body) ? await parseLargeJson(body) : undefined) ?? parseUnmarked(body);
    if (request.rawBody === undefined) giveBack(body);
    return parsed;
  });
}
