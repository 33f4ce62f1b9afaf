import type { FastifyReply, FastifyRequest } from "fastify";
import type { Engine } from "../../../engine/engine.ts";
import { limits } from "../../../engine/limits.ts";
import type { EncodedBatch } from "../../../engine/log/record-batch.ts";
import type { AppendCommand, AppendReply, FetchCommand, RoutedAppendCommand } from "../../../engine/stream/streams.ts";
import { formatToken } from "../../../engine/token.ts";
import { DecodedBody } from "../http/body.ts";
import {
  clientSignal,
  type Route,
  readIdempotency,
  readToken,
  sendReplayed,
  sendToken,
  tokenHeaderName,
} from "../route.ts";
import {
  answer,
  answerIn,
  array,
  base64,
  count,
  idempotencyHeader,
  object,
  optional,
  partitionPath,
  streamPath,
  text,
  token,
  tokenHeader,
} from "../schemas.ts";
import { recordCodec } from "./codec.ts";
import { type FetchQuery, fetchQuery, parseFrom } from "./fetch-query.ts";
import { formatOf, formatQuery, recordsToBase64 } from "./format.ts";
import { encodeRecordsInTurns, parseRecordsInTurns, type RecordJson } from "./json.ts";
import { fetchPage } from "./page.ts";
import { sendTail, wantsTail } from "./tail.ts";

interface PartitionParams {
  readonly ns: string;
  readonly stream: string;
  readonly partition: number;
}

const record = object({
  key: optional(base64),
  value: optional(base64),
  headers: optional(array(object({ key: text, value: optional(base64) }, ["key"]))),
  timestamp_ms: optional({ ...count, description: "Epoch milliseconds; default: the server's clock" }),
});
/** A value that `format` can't tell stands under the other name. */
const fetchedValue = { value: { description: "Base64, text or JSON, depending on `format`" }, value_base64: base64 };
const fetched = {
  type: "object",
  properties: {
    offset: count,
    timestamp_ms: count,
    key: { description: "Like the value" },
    key_base64: base64,
    ...fetchedValue,
    headers: array({ type: "object", properties: { key: text, ...fetchedValue } }),
  },
};
const records = array(record, { minItems: 1, maxItems: limits.requestRecordsMax });
export const appendBody = object(
  { records, match_offset: optional({ ...count, description: "The base offset that the writer expects" }) },
  ["records"],
);
const appendAnswer = { base_offset: count, last_offset: count, token };

function parseFetch(request: FastifyRequest): FetchCommand {
  const { ns, stream, partition } = request.params as PartitionParams;
  const query = request.query as FetchQuery;
  return {
    namespace: ns,
    stream,
    partition,
    from: parseFrom(query),
    waitMs: Math.min(query.max_wait_ms ?? 0, limits.fetchWaitMsMax),
    token: readToken(request),
  };
}

async function appendOf(body: unknown): Promise<Pick<AppendCommand, "records" | "matchOffset">> {
  if (body instanceof DecodedBody) return { records: body.value as EncodedBatch };
  const { records, match_offset } = body as { records: RecordJson[]; match_offset?: number | null };
  const encoded = (await encodeRecordsInTurns(records, Date.now())) ?? (await parseRecordsInTurns(records));
  return { records: encoded, ...(match_offset == null ? {} : { matchOffset: match_offset }) };
}

/** The answer to an append, its token formatted already for header and body. */
export function appendReplyText(reply: AppendReply, tokenText: string): string {
  return `{"base_offset":${reply.baseOffset},"last_offset":${reply.lastOffset},"token":${tokenText}}`;
}

/** The same body means other records in another format. */
function idempotencyOf(request: FastifyRequest) {
  const format = formatOf(request);
  if (format === "base64") return readIdempotency(request);
  return readIdempotency(request, () => [`format=${format}\n`, request.rawBody ?? ""]);
}

function sendAppend(reply: FastifyReply, done: AppendReply): FastifyReply {
  const tokenText = formatToken(done.token);
  reply.header(tokenHeaderName, tokenText).header("content-type", "application/json; charset=utf-8");
  return reply.send(appendReplyText(done, tokenText));
}

const inPartition = "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records";

export function recordRoutes(engine: Engine): Route[] {
  return [appendRoute(engine), routedAppendRoute(engine), fetchRoute(engine)];
}

function appendRoute({ streams }: Engine): Route {
  return {
    method: "POST",
    url: inPartition,
    access: "write",
    tag: "records",
    schema: {
      summary: "Append records to a partition: atomic, and durable before the answer",
      params: partitionPath,
      headers: idempotencyHeader,
      querystring: object(formatQuery),
      body: appendBody,
      response: { 200: answer("Appended", appendAnswer) },
    },
    decode: (body, request) => (formatOf(request) === "base64" ? recordCodec().decode(body, Date.now()) : undefined),
    prepare: recordsToBase64,
    handler: async (request, reply) => {
      const { ns, stream, partition } = request.params as PartitionParams;
      const idempotency = idempotencyOf(request);
      const command: AppendCommand = {
        namespace: ns,
        stream,
        partition,
        ...(await appendOf(request.body)),
        ...(idempotency === undefined ? {} : { idempotency }),
      };
      const done = await streams.append(command);
      if (done.replayed) sendReplayed(reply);
      return sendAppend(reply, done.reply);
    },
  };
}

function routedAppendRoute({ streams }: Engine): Route {
  return {
    method: "POST",
    url: "/v1/namespaces/:ns/streams/:stream/records",
    access: "write",
    tag: "records",
    schema: {
      summary: "Append records to the partitions of their keys: one atomic write",
      params: streamPath,
      headers: idempotencyHeader,
      querystring: object(formatQuery),
      body: object({ records }, ["records"]),
      response: {
        200: answer("Appended", {
          appends: array({ type: "object", properties: { partition: count, ...appendAnswer } }),
          token,
        }),
      },
    },
    prepare: recordsToBase64,
    handler: async (request, reply) => {
      const { ns, stream } = request.params as PartitionParams;
      const idempotency = idempotencyOf(request);
      const command: RoutedAppendCommand = {
        namespace: ns,
        stream,
        records: await parseRecordsInTurns((request.body as { records: RecordJson[] }).records),
        ...(idempotency === undefined ? {} : { idempotency }),
      };
      const done = await streams.appendRouted(command);
      if (done.replayed) sendReplayed(reply);
      sendToken(reply, done.reply.token);
      return {
        appends: done.reply.appends.map((append) => ({
          partition: append.partition,
          base_offset: append.baseOffset,
          last_offset: append.lastOffset,
          token: append.token,
        })),
        token: done.reply.token,
      };
    },
  };
}

function fetchRoute({ streams }: Engine): Route {
  return {
    method: "GET",
    url: inPartition,
    access: "read",
    tag: "records",
    schema: {
      summary: "Fetch records; `Accept: text/event-stream` follows the partition live",
      params: partitionPath,
      headers: tokenHeader,
      querystring: object({
        ...fetchQuery,
        ...formatQuery,
        timestamp_ms: {
          ...count,
          description: "Instead of `offset`: start at the first record at or after this time",
        },
      }),
      response: {
        200: answerIn("A page of records; continue from next_offset", {
          "application/json": {
            type: "object",
            properties: {
              records: array(fetched),
              next_offset: count,
              high_watermark: count,
              log_start_offset: count,
            },
          },
          "text/event-stream": text,
        }),
      },
    },
    handler: async (request, reply) => {
      if (wantsTail(request)) return sendTail(streams, request, reply);
      const command = parseFetch(request);
      const { max_bytes = limits.fetchBytesDefault } = request.query as FetchQuery;
      const signal = command.waitMs === 0 && command.token.length === 0 ? undefined : clientSignal(reply);
      const result = await streams.fetch(command, signal);
      reply.header("content-type", "application/json; charset=utf-8");
      return reply.send(fetchPage(result, Math.min(max_bytes, limits.fetchBytesMax), formatOf(request)));
    },
  };
}
