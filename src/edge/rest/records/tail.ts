import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { EngineError, invalid } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import type { FetchCommand, FetchResult, Streams } from "../../../engine/stream/streams.ts";
import { errorReply, toEngineError } from "../error.ts";
import { preferredType } from "../http/accept.ts";
import { clientSignal, readToken } from "../route.ts";
import { type FetchQuery, parseFrom } from "./fetch-query.ts";
import { formatOf, formattedRecord, type RecordFormat } from "./format.ts";
import { piecesOfBatchMax } from "./page.ts";

/** A comment line after this long without a record keeps proxies from closing the connection. */
const heartbeatMs = 15_000;
const pieceBytes = 256 * 1024;

export function wantsTail(request: FastifyRequest): boolean {
  const { accept } = request.headers;
  return accept !== undefined && preferredType(accept, ["application/json", "text/event-stream"]) === 1;
}

function parseTail(request: FastifyRequest): FetchCommand {
  const { ns, stream, partition } = request.params as { ns: string; stream: string; partition: number };
  const target = { namespace: ns, stream, partition, waitMs: 0, token: readToken(request) };
  const resumed = request.headers["last-event-id"];
  if (resumed === undefined) return { ...target, from: parseFrom(request.query as FetchQuery) };
  const offset = Number(resumed);
  if (!/^\d+$/.test(String(resumed)) || !Number.isSafeInteger(offset)) {
    throw invalid("Last-Event-ID", "must be the id of an event of this tail");
  }
  return { ...target, from: { offset } };
}

/**
 * Server-sent events: one event a record, whose id is the offset to resume from. Runs until the client leaves or the
 * server drains; it reads the log only as fast as the client takes it.
 */
export async function sendTail(streams: Streams, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const command = parseTail(request);
  const signal = clientSignal(reply);
  // The first fetch decides between a stream of events and an ordinary error.
  const first = await streams.fetch(command, signal);
  reply.headers({ "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" });
  // There is nothing to follow in an answer without a body.
  if (request.method === "HEAD") return reply.send();
  reply.hijack();
  const response = reply.raw as ServerResponse;
  response.writeHead(200, reply.getHeaders() as Record<string, string>);
  try {
    await follow(streams, command, first, formatOf(request), response, signal);
  } catch (error) {
    const failure = toEngineError(error);
    if (failure.reason === "internal") request.log.error({ err: failure.cause ?? failure }, "a tail failed");
    if (!signal.aborted) response.write(`event: error\ndata: ${JSON.stringify(errorReply(failure).body)}\n\n`);
  }
  response.end();
  return reply;
}

async function follow(
  streams: Streams,
  command: FetchCommand,
  first: FetchResult,
  format: RecordFormat,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  let result = first;
  let next = first.offset;
  // A time holds until a record of that time or later is there.
  let { from } = command;
  while (!signal.aborted) {
    let piece = "";
    const start = next;
    try {
      for (const batch of result.read(next)) {
        if (!batch.seek(next)) break;
        const enough = Math.max(pieceBytes, batch.bytes.length / piecesOfBatchMax);
        do {
          next = batch.offset + 1;
          piece += `id: ${next}\ndata: ${formattedRecord(batch, format)}\n\n`;
        } while (piece.length < enough && batch.next());
        if (piece.length >= enough) break;
      }
    } catch (error) {
      // What comes before a batch that can't be read is sent first.
      if (piece === "") throw error;
    }
    if (piece === "" && start < result.highWatermark) {
      throw new EngineError("offset_out_of_range", `offset: ${start} was trimmed before it could be sent`);
    }
    if (piece === "") piece = ": waiting\n\n";
    else from = { offset: next };
    if (!response.write(piece)) await once(response, "drain", { signal }).catch(() => {});
    if (signal.aborted) return;
    const waitMs = Math.min(heartbeatMs, limits.fetchWaitMsMax);
    result = await streams.fetch({ ...command, token: [], from, waitMs, streamId: first.stream }, signal);
    next = result.offset;
    if (streams.isDraining) return;
  }
}
