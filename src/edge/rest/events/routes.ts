import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Engine } from "../../../engine/engine.ts";
import { EngineError } from "../../../engine/errors.ts";
import type { CloudEvent } from "../../../engine/event/cloud-event.ts";
import type { Events, TakeEvent } from "../../../engine/event/events.ts";
import type { EventResult, EventsReply } from "../../../engine/event/events-reply.ts";
import { eventJsonType, formatEventJson } from "../../../engine/event/json-format.ts";
import { limits } from "../../../engine/limits.ts";
import type { Idempotency } from "../../../engine/stream/idempotency.ts";
import { formatToken } from "../../../engine/token.ts";
import { eventBody } from "../body-shapes.ts";
import { release } from "../http/memory.ts";
import { type FetchQuery, fetchQuery, parseFrom } from "../records/fetch-query.ts";
import { clientSignal, type Route, readIdempotency, readToken, sendReplayed, sendToken } from "../route.ts";
import {
  answer,
  answerIn,
  array,
  count,
  idempotencyHeader,
  object,
  partitionPath,
  streamPath,
  text,
  token,
  tokenHeader,
} from "../schemas.ts";
import { batchJsonType, type EventRequest, formatBinary, isAttributeHeader, parseEvents } from "./cloudevents.ts";
import { runText } from "./run-text.ts";

interface EventsQuery extends FetchQuery {
  readonly mode?: "binary";
  readonly partition?: number;
}

/** Events whose results are put together from pieces. */
const shortRun = 8;

const eventAnswer = { status: text, partition: count, offset: count };

async function appendEvents(engine: Engine, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { ns, stream } = request.params as { ns: string; stream: string };
  const { partition } = request.query as EventsQuery;
  // Names and values alternate, as they arrived.
  const { rawHeaders: headers } = request.raw;
  const place = { namespace: ns, stream, ...(partition === undefined ? {} : { partition }) };
  const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  const input = { headers, contentType: headerOf(headers, "content-type"), body };
  const idempotency = readIdempotency(request, () => askedFor(input, partition));
  const done = await writeEvents(engine.events, place, input, undefined, idempotency);
  sendToken(reply, done.token);
  if (done.replayed) sendReplayed(reply);
  if (done.inFlight) throw inFlightError(done);
  reply.header("content-type", "application/json; charset=utf-8");
  return reply.send(eventsReplyText(done, formatToken(done.token)));
}

/** Writes the events of a request: those of the plainest JSON at once, all others after they were read one by one. */
export function writeEvents(
  events: Events,
  place: { readonly namespace: string; readonly stream: string; readonly partition?: number },
  request: EventRequest,
  allocate?: (bytes: number) => Buffer,
  idempotency?: Idempotency,
): Promise<EventsReply> {
  const { contentType, body: text } = request;
  const isBatch = contentType === batchJsonType;
  if (isBatch || contentType === eventJsonType) {
    const { namespace, stream, partition } = place;
    const written = events.appendJson({ namespace, stream, partition, text, isBatch, allocate, idempotency });
    // Whoever lends memory for the records does not look at the text again.
    if (written !== undefined && allocate !== undefined) release(text);
    if (written !== undefined) return written;
  }
  return events.append({ ...place, events: parseEvents(request).events, idempotency });
}

/** What makes a request the same as another one besides its path: all that its events are made of. */
function askedFor({ headers, contentType, body }: EventRequest, partition: number | undefined): (string | Buffer)[] {
  const attributes: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (isAttributeHeader(name)) attributes.push(`${name}: ${headers[i + 1]}\n`);
  }
  return [`${partition ?? ""}\n${contentType ?? ""}\n`, ...attributes.sort(), "\n", body];
}

/** The answer to appended events, its token formatted already for header and body. */
export function eventsReplyText(reply: EventsReply, tokenText: string): string {
  const { run } = reply;
  if (run === undefined) return `{"events":[${reply.events.map(resultText).join(",")}],"token":${tokenText}}`;
  const written = run.count < shortRun ? undefined : runText(run.partition, run.baseOffset, run.count);
  if (written !== undefined) return `{"events":[${written}],"token":${tokenText}}`;
  const start = `{"status":"appended","partition":${run.partition},"offset":`;
  let text = `{"events":[${start}${run.baseOffset}`;
  for (let i = 1; i < run.count; i++) text += `},${start}${run.baseOffset + i}`;
  return `${text}}],"token":${tokenText}}`;
}

/** An event of the request is being written by another one: the whole answer is a conflict that tells of all events. */
export function inFlightError({ events, token: written }: EventsReply): EngineError {
  const message = "an event of the request is being written by another request; retry";
  return new EngineError("aborted", message, { details: { events, token: written }, retryAfterMs: 1000 });
}

/** Every part is plain, so it is faster written by hand. */
function resultText({ status, partition, offset }: EventResult): string {
  return `{"status":"${status}","partition":${partition},"offset":${offset}}`;
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length === name.length && headers[i]!.toLowerCase() === name) return headers[i + 1];
  }
  return undefined;
}

async function readEvents(engine: Engine, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { ns, stream, partition } = request.params as { ns: string; stream: string; partition: number };
  const query = request.query as EventsQuery;
  const binary = query.mode === "binary";
  const command = {
    namespace: ns,
    stream,
    partition,
    from: parseFrom(query),
    waitMs: Math.min(query.max_wait_ms ?? 0, limits.fetchWaitMsMax),
    token: readToken(request),
  };
  const bytesMax = Math.min(query.max_bytes ?? limits.fetchBytesDefault, limits.fetchBytesMax);
  const texts: string[] = [];
  let first: CloudEvent | undefined;
  let bytes = 2;
  const take: TakeEvent = (event, count) => {
    first ??= event;
    if (binary) return "last";
    const json = formatEventJson(event);
    const size = Buffer.byteLength(json) + 1;
    if (count > 0 && bytes + size > bytesMax) return "refused";
    bytes += size;
    texts.push(json);
    return "taken";
  };
  const result = await engine.events.read(command, take, clientSignal(reply));
  reply.header("service-next-offset", String(result.nextOffset));
  reply.header("service-high-watermark", String(result.highWatermark));
  if (!binary) return reply.header("content-type", batchJsonType).send(Buffer.from(`[${texts.join(",")}]`));
  if (first === undefined) return reply.code(204).send();
  const message = formatBinary(first);
  // As a stream: a Buffer without a type would be given one, and the event a datacontenttype that it does not have.
  reply.headers({ ...message.headers, "content-length": String(message.body.length) });
  return reply.send(Readable.from([message.body], { objectMode: false }));
}

export function eventRoutes(engine: Engine): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/namespaces/:ns/streams/:stream/events",
      access: "write",
      tag: "events",
      rawBody: true,
      schema: {
        summary:
          "Append CloudEvents in binary, structured or batch mode; each source and id is stored once within the window",
        params: streamPath,
        headers: idempotencyHeader,
        body: eventBody,
        querystring: object({
          partition: { ...count, description: "The partition of all events; default: by their own keys" },
        }),
        response: {
          200: answer("Appended, or a duplicate", {
            events: array({ type: "object", properties: eventAnswer }),
            token,
          }),
        },
      },
      handler: (request, reply) => appendEvents(engine, request, reply),
    },
    {
      method: "GET",
      url: "/v1/namespaces/:ns/streams/:stream/partitions/:partition/events",
      access: "read",
      tag: "events",
      schema: {
        summary: "Fetch CloudEvents as a batch, or the first one in binary mode",
        params: partitionPath,
        headers: tokenHeader,
        querystring: object({
          ...fetchQuery,
          timestamp_ms: {
            ...count,
            description: "Instead of `offset`: start at the first record at or after this time",
          },
          mode: { type: "string", enum: ["binary"] },
        }),
        response: {
          200: answerIn("A CloudEvents batch; in binary mode the data of one event, with its own type", {
            [batchJsonType]: array({ type: "object" }),
            "*/*": {},
          }),
          204: { description: "In binary mode: no event is ready" },
        },
      },
      handler: (request, reply) => readEvents(engine, request, reply),
    },
  ];
}
