import type { IncomingMessage, ServerResponse } from "node:http";
import { authorize, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError, unavailable } from "../../engine/errors.ts";
import { formatToken } from "../../engine/token.ts";
import { parseJson } from "./body.ts";
import { parseEvents } from "./cloudevents.ts";
import { errorReply, toEngineError } from "./error.ts";
import { encodeRecords, parseRecords, type RecordJson } from "./record-json.ts";
import { eventsReplyText, inFlightError } from "./routes/events.ts";
import { appendBody, appendReplyText } from "./routes/records.ts";
import type { RestOptions } from "./server.ts";
import { compileSchema } from "./validation.ts";

/** Larger bodies take the ordinary way, which bounds what all of them hold together. */
const bodyBytesMax = 64 * 1024;

const writePath =
  /^\/v1\/namespaces\/([A-Za-z0-9][A-Za-z0-9._-]{0,127})\/streams\/([A-Za-z0-9][A-Za-z0-9._-]{0,127})\/(?:partitions\/(0|[1-9]\d{0,4})\/records|events)$/;

/** The routes as they are named in metrics. */
const recordsRoute = "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records";
const eventsRoute = "/v1/namespaces/:ns/streams/:stream/events";

interface Write {
  readonly namespace: string;
  readonly stream: string;
  /** Undefined for events. */
  readonly partition: number | undefined;
  readonly startedMs: number;
}

interface Written {
  readonly text: string;
  readonly tokenText: string;
}

/**
 * Small appends over HTTP/1, the requests that come by the thousand: the same checks in the same order, by the same
 * functions, as on the way through the router, but without its objects, hooks and streams. What it does not take goes
 * the ordinary way. Its gain has yet to be measured on a quiet machine.
 */
export function createHotLane(options: RestOptions): (request: IncomingMessage, response: ServerResponse) => boolean {
  const lane = new HotLane(options);
  return (request, response) => lane.take(request, response);
}

class HotLane {
  readonly #options: RestOptions;
  readonly #validate: (body: unknown) => unknown;
  readonly #countRecords: (status: number, ms: number) => void;
  readonly #countEvents: (status: number, ms: number) => void;

  constructor(options: RestOptions) {
    this.#options = options;
    this.#countRecords = options.metrics.counterOf(recordsRoute, "POST");
    this.#countEvents = options.metrics.counterOf(eventsRoute, "POST");
    this.#validate = compileSchema({ schema: appendBody, httpPart: "body", method: "POST", url: recordsRoute });
  }

  take(request: IncomingMessage, response: ServerResponse): boolean {
    const { headers } = request;
    if (request.method !== "POST" || request.httpVersionMajor !== 1) return false;
    if (headers["idempotency-key"] !== undefined || !(Number(headers["content-length"]) <= bodyBytesMax)) return false;
    const match = writePath.exec(request.url ?? "");
    if (match === null) return false;
    const partition = match[3] === undefined ? undefined : Number(match[3]);
    if (partition !== undefined && headers["content-type"] !== "application/json") return false;
    const write = { namespace: match[1]!, stream: match[2]!, partition, startedMs: performance.now() };
    const refused = this.#admit(request, write.namespace);
    if (refused instanceof Promise) {
      refused.then(
        () => this.#read(request, response, write),
        (error: unknown) => this.#fail(request, response, write, error),
      );
    } else if (refused !== undefined) this.#fail(request, response, write, refused);
    else this.#read(request, response, write);
    return true;
  }

  /** Undefined where the caller may write; else why not, or the promise of one of both. */
  #admit(request: IncomingMessage, namespace: string): EngineError | Promise<void> | undefined {
    const { authenticator, engine } = this.#options;
    const { host, origin, authorization } = request.headers;
    const refused = authenticator.screen({ method: "POST", host, origin, authorization });
    if (refused !== undefined) return refused;
    if (engine.isDraining) return unavailable("the server is draining");
    const { remoteAddress, remotePort } = request.socket;
    const found = authenticator.authenticate({ authorization, remoteAddress, remotePort });
    const admit = (principal: Principal) => authorize(principal, needs.writeIn(namespace));
    if (found instanceof Promise) return found.then(admit);
    try {
      admit(found);
      return undefined;
    } catch (error) {
      return EngineError.from(error);
    }
  }

  #read(request: IncomingMessage, response: ServerResponse, write: Write): void {
    let body: Buffer | undefined;
    request.on("data", (chunk: Buffer) => {
      body = body === undefined ? chunk : Buffer.concat([body, chunk]);
    });
    request.on("end", () => this.#answer(request, response, write, body ?? Buffer.alloc(0)));
  }

  #answer(request: IncomingMessage, response: ServerResponse, write: Write, body: Buffer): void {
    const fail = (error: unknown) => this.#fail(request, response, write, error);
    try {
      const written =
        write.partition === undefined
          ? this.#appendEvents(request, write, body)
          : this.#appendRecords(write, write.partition, body);
      written.then(({ text, tokenText }) => this.#send(request, response, write, text, tokenText)).catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #send(request: IncomingMessage, response: ServerResponse, write: Write, text: string, tokenText: string): void {
    response.writeHead(200, [
      "x-request-id",
      this.#options.requestId(request),
      "service-consistency-token",
      tokenText,
      "content-type",
      "application/json; charset=utf-8",
      "content-length",
      // Names, numbers and statuses: all of it is ASCII.
      String(text.length),
    ]);
    response.end(text, "latin1");
    this.#count(write, 200);
  }

  #appendRecords(write: Write, partition: number, body: Buffer): Promise<Written> {
    const { namespace, stream } = write;
    const parsed = body.length === 0 ? undefined : parseJson(body);
    if (this.#validate(parsed) !== true) throw toEngineError(bodyFault(this.#validate));
    const { records, match_offset } = parsed as { records: RecordJson[]; match_offset?: number | null };
    const command = {
      namespace,
      stream,
      partition,
      records: encodeRecords(records, Date.now()) ?? parseRecords(records),
    };
    return this.#options.engine.streams
      .append(match_offset == null ? command : { ...command, matchOffset: match_offset })
      .then(({ reply }) => {
        const tokenText = formatToken(reply.token);
        return { text: appendReplyText(reply, tokenText), tokenText };
      });
  }

  #appendEvents(request: IncomingMessage, { namespace, stream }: Write, body: Buffer): Promise<Written> {
    const { rawHeaders: headers } = request;
    const { events } = parseEvents({ headers, contentType: request.headers["content-type"], body });
    return this.#options.engine.events.append({ namespace, stream, events }).then((done) => {
      if (done.inFlight) throw inFlightError(done);
      const tokenText = formatToken(done.token);
      return { text: eventsReplyText(done.events, tokenText), tokenText };
    });
  }

  #fail(request: IncomingMessage, response: ServerResponse, write: Write, thrown: unknown): void {
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
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
    });
    response.end(text);
    this.#count(write, status);
  }

  #count({ partition, startedMs }: Write, status: number): void {
    const count = partition === undefined ? this.#countEvents : this.#countRecords;
    count(status, performance.now() - startedMs);
  }
}

/** What the router would report. The validator keeps the errors of its last run, as compiled schemas do. */
function bodyFault(validate: unknown): object {
  return { validation: (validate as { errors?: unknown }).errors, validationContext: "body" };
}
