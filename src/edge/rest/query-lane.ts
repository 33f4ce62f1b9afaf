import type { IncomingMessage, ServerResponse } from "node:http";
import { authorize, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { unavailable } from "../../engine/errors.ts";
import { formatToken } from "../../engine/token.ts";
import { parseJson } from "./body.ts";
import { errorReply, toEngineError } from "./error.ts";
import { clientGone, tokenHeaderBytesMax, tokenHeaderName, tokenOf } from "./route.ts";
import { answerQuery, queryRoute } from "./routes/query.ts";
import type { RestOptions } from "./server.ts";

/** Larger bodies take the ordinary way, which bounds what all of them hold together. */
const bodyBytesMax = 64 * 1024;

const queryPath = /^\/v1\/namespaces\/([A-Za-z0-9][A-Za-z0-9._-]{0,127})\/query$/;

const jsonType = "application/json; charset=utf-8";

/**
 * Queries over HTTP/1, which come by the thousand: the same checks in the same order, by the same functions, as on the
 * way through the router, but without its objects, hooks and streams. What it does not take goes the ordinary way.
 */
export function createQueryLane(options: RestOptions): (request: IncomingMessage, response: ServerResponse) => boolean {
  const lane = new QueryLane(options);
  return (request, response) => lane.take(request, response);
}

class QueryLane {
  readonly #options: RestOptions;
  readonly #count: (status: number, ms: number) => void;

  constructor(options: RestOptions) {
    this.#options = options;
    this.#count = options.metrics.counterOf(queryRoute, "POST");
  }

  take(request: IncomingMessage, response: ServerResponse): boolean {
    const { headers } = request;
    if (request.method !== "POST" || request.httpVersionMajor !== 1) return false;
    if (headers["content-type"] !== "application/json") return false;
    const length = Number(headers["content-length"]);
    if (!(length > 0 && length <= bodyBytesMax)) return false;
    const match = queryPath.exec(request.url ?? "");
    if (match === null) return false;
    const startedMs = performance.now();
    this.#answer(request, response, match[1]!).then(
      (text) => {
        response.writeHead(200, this.#headers(request, text));
        response.end(text.body);
        this.#count(200, performance.now() - startedMs);
      },
      (error: unknown) => this.#count(this.#fail(request, response, error), performance.now() - startedMs),
    );
    return true;
  }

  async #answer(request: IncomingMessage, response: ServerResponse, namespace: string): Promise<Answer> {
    const admitted = this.#admit(request, namespace);
    if (admitted !== undefined) await admitted;
    const body = parseJson(await readBody(request));
    const controller = new AbortController();
    response.once("close", () => controller.abort(clientGone));
    const { engine } = this.#options;
    const given = tokenOf(request.headers[tokenHeaderName]);
    const { result, token } = await answerQuery(engine.queries, namespace, body, given, controller.signal);
    return { body: JSON.stringify(result), token: token === undefined ? undefined : formatToken(token) };
  }

  /** Throws where the caller may not read; a promise where that takes time to find out. */
  #admit(request: IncomingMessage, namespace: string): Promise<void> | undefined {
    const { authenticator, engine } = this.#options;
    const { host, origin, authorization } = request.headers;
    const refused = authenticator.screen({ method: "POST", host, origin, authorization });
    if (refused !== undefined) throw refused;
    if (engine.isDraining) throw unavailable("the server is draining");
    const { remoteAddress, remotePort } = request.socket;
    const found = authenticator.authenticate({ authorization, remoteAddress, remotePort });
    const admit = (principal: Principal) => authorize(principal, needs.readIn(namespace));
    if (found instanceof Promise) return found.then(admit);
    admit(found);
    return undefined;
  }

  #headers(request: IncomingMessage, { body, token }: Answer): string[] {
    const headers = ["x-request-id", this.#options.requestId(request), "content-type", jsonType];
    if (token !== undefined && token.length <= tokenHeaderBytesMax) headers.push(tokenHeaderName, token);
    headers.push("content-length", String(Buffer.byteLength(body)));
    return headers;
  }

  /** Returns the status. */
  #fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): number {
    const { log, requestId } = this.#options;
    const error = toEngineError(thrown);
    const { status, headers, body } = errorReply(error);
    const id = requestId(request);
    if (status >= 500 && status !== 501) {
      log[status === 500 ? "error" : "warn"]({ reqId: id, err: error.cause ?? error }, error.message);
    }
    const text = JSON.stringify(status === 500 ? { ...body, request_id: id } : body);
    response.writeHead(status, {
      ...headers,
      "x-request-id": id,
      "content-type": jsonType,
      "content-length": Buffer.byteLength(text),
    });
    response.end(text);
    return status;
  }
}

interface Answer {
  readonly body: string;
  readonly token: string | undefined;
}

function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: Buffer | undefined;
    request.on("data", (chunk: Buffer) => {
      body = body === undefined ? chunk : Buffer.concat([body, chunk]);
    });
    request.once("end", () => resolve(body ?? Buffer.alloc(0)));
    request.once("close", () => reject(clientGone));
  });
}
