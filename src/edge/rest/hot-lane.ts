import type { IncomingMessage, ServerResponse } from "node:http";
import { authorize, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError, unavailable } from "../../engine/errors.ts";
import type { AppendCommand } from "../../engine/stream/streams.ts";
import { formatToken } from "../../engine/token.ts";
import type { ExpressHandler, ExpressReply, ExpressRequest } from "../../listener/express.ts";
import { parseJson } from "./body.ts";
import { parseEvents } from "./cloudevents.ts";
import { errorReply, toEngineError } from "./error.ts";
import { recordCodec } from "./record-codec.ts";
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

/** A request as both ways into the lane have it. */
interface Asked {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
}

interface Written {
  readonly text: string;
  readonly tokenText: string;
}

export interface HotLane {
  /** Requests that the listener has read whole. */
  readonly express: ExpressHandler;
  /** The same requests on a connection that Node's server reads. */
  readonly plain: (request: IncomingMessage, response: ServerResponse) => boolean;
}

/**
 * Small appends over HTTP/1, the requests that come by the thousand: the same checks in the same order, by the same
 * functions, as on the way through the router, but without its objects, hooks and streams. What it does not take goes
 * the ordinary way.
 */
export function createHotLane(options: RestOptions): HotLane {
  const lane = new Lane(options);
  return {
    express: (request, reply) => lane.takeExpress(request, reply),
    plain: (request, response) => lane.take(request, response),
  };
}

class Lane {
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

  takeExpress({ head, body, remoteAddress, remotePort }: ExpressRequest, reply: ExpressReply): boolean {
    const write = this.#writeOf(head.method, head.target, head.headers);
    if (write === undefined) return false;
    const { headers, rawHeaders } = head;
    this.#serve({ headers, rawHeaders, remoteAddress, remotePort }, write, reply, (then) => then(body));
    return true;
  }

  take(request: IncomingMessage, response: ServerResponse): boolean {
    const { headers, rawHeaders } = request;
    if (request.httpVersionMajor !== 1) return false;
    if (!(Number(headers["content-length"]) <= bodyBytesMax)) return false;
    const write = this.#writeOf(request.method ?? "", request.url ?? "", headers);
    if (write === undefined) return false;
    const { remoteAddress, remotePort } = request.socket;
    const asked = { headers, rawHeaders, remoteAddress, remotePort };
    this.#serve(asked, write, replyBy(response), (then) => readBody(request, then));
    return true;
  }

  #writeOf(method: string, target: string, headers: Asked["headers"]): Write | undefined {
    if (method !== "POST" || headers["idempotency-key"] !== undefined) return undefined;
    const match = writePath.exec(target);
    if (match === null) return undefined;
    const partition = match[3] === undefined ? undefined : Number(match[3]);
    if (partition !== undefined && headers["content-type"] !== "application/json") return undefined;
    return { namespace: match[1]!, stream: match[2]!, partition, startedMs: performance.now() };
  }

  #serve(asked: Asked, write: Write, reply: ExpressReply, body: (then: (bytes: Buffer) => void) => void): void {
    const fail = (error: unknown) => this.#fail(asked, reply, write, error);
    const refused = this.#admit(asked, write.namespace);
    const answer = () => body((bytes) => this.#answer(asked, reply, write, bytes, fail));
    if (refused instanceof Promise) refused.then(answer, fail);
    else if (refused !== undefined) fail(refused);
    else answer();
  }

  /** Undefined where the caller may write; else why not, or the promise of one of both. */
  #admit({ headers, remoteAddress, remotePort }: Asked, namespace: string): EngineError | Promise<void> | undefined {
    const { authenticator, engine } = this.#options;
    const { host, origin, authorization } = headers as Readonly<Record<string, string | undefined>>;
    const refused = authenticator.screen({ method: "POST", host, origin, authorization });
    if (refused !== undefined) return refused;
    if (engine.isDraining) return unavailable("the server is draining");
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

  #answer(asked: Asked, reply: ExpressReply, write: Write, body: Buffer, fail: (error: unknown) => void): void {
    try {
      const written =
        write.partition === undefined
          ? this.#appendEvents(asked, write, body)
          : this.#appendRecords(write, write.partition, body);
      written.then((done) => this.#send(asked, reply, write, done), fail).catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #send(asked: Asked, reply: ExpressReply, write: Write, { text, tokenText }: Written): void {
    const headers = this.#headers(asked);
    headers.push("service-consistency-token", tokenText);
    // Names, numbers and statuses: all of it is ASCII.
    reply.send(200, headers, text);
    this.#count(write, 200);
  }

  /** What every answer carries. */
  #headers(asked: Asked): string[] {
    return ["x-request-id", this.#options.requestId(asked), "content-type", "application/json; charset=utf-8"];
  }

  #appendRecords(write: Write, partition: number, body: Buffer): Promise<Written> {
    const { namespace, stream } = write;
    const plain = recordCodec().decode(body, Date.now());
    if (plain !== undefined) return this.#append({ namespace, stream, partition, records: plain });
    const parsed = body.length === 0 ? undefined : parseJson(body);
    if (this.#validate(parsed) !== true) throw toEngineError(bodyFault(this.#validate));
    const { records, match_offset } = parsed as { records: RecordJson[]; match_offset?: number | null };
    const command = {
      namespace,
      stream,
      partition,
      records: encodeRecords(records, Date.now()) ?? parseRecords(records),
    };
    return this.#append(match_offset == null ? command : { ...command, matchOffset: match_offset });
  }

  #append(command: AppendCommand): Promise<Written> {
    return this.#options.engine.streams.append(command).then(({ reply }) => {
      const tokenText = formatToken(reply.token);
      return { text: appendReplyText(reply, tokenText), tokenText };
    });
  }

  #appendEvents({ headers, rawHeaders }: Asked, { namespace, stream }: Write, body: Buffer): Promise<Written> {
    const contentType = headers["content-type"] as string | undefined;
    const { events } = parseEvents({ headers: rawHeaders, contentType, body });
    return this.#options.engine.events.append({ namespace, stream, events }).then((done) => {
      if (done.inFlight) throw inFlightError(done);
      const tokenText = formatToken(done.token);
      return { text: eventsReplyText(done.events, tokenText), tokenText };
    });
  }

  #fail(asked: Asked, reply: ExpressReply, write: Write, thrown: unknown): void {
    const { log } = this.#options;
    const error = toEngineError(thrown);
    const { status, headers, body } = errorReply(error);
    const all = this.#headers(asked);
    const id = all[1]!;
    if (status >= 500 && status !== 501) {
      log[status === 500 ? "error" : "warn"]({ reqId: id, err: error.cause ?? error }, error.message);
    }
    for (const [name, value] of Object.entries(headers)) all.push(name, value);
    reply.send(status, all, Buffer.from(JSON.stringify(status === 500 ? { ...body, request_id: id } : body)));
    this.#count(write, status);
  }

  #count({ partition, startedMs }: Write, status: number): void {
    const count = partition === undefined ? this.#countEvents : this.#countRecords;
    count(status, performance.now() - startedMs);
  }
}

function readBody(request: IncomingMessage, then: (body: Buffer) => void): void {
  let body: Buffer | undefined;
  request.on("data", (chunk: Buffer) => {
    body = body === undefined ? chunk : Buffer.concat([body, chunk]);
  });
  request.on("end", () => then(body ?? Buffer.alloc(0)));
}

function replyBy(response: ServerResponse): ExpressReply {
  return {
    get isOpen() {
      return !response.destroyed;
    },
    onLeft: (callback) => {
      response.once("close", () => {
        if (!response.writableFinished) callback();
      });
    },
    send: (status, headers, body) => {
      response.writeHead(status, [...headers, "content-length", String(body.length)]);
      response.end(body, "latin1");
    },
  };
}

/** What the router would report. The validator keeps the errors of its last run, as compiled schemas do. */
function bodyFault(validate: unknown): object {
  return { validation: (validate as { errors?: unknown }).errors, validationContext: "body" };
}
