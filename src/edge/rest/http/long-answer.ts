import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { nextTurn } from "../../../port/next-turn.ts";

/** Answers up to this size go out at once; longer ones in pieces of it, as fast as the client reads them. */
const pieceLength = 64 * 1024;

/** Sends JSON text that is made of many parts, each of them only when it is its turn. */
export function sendParts(reply: FastifyReply, parts: Iterable<string>): FastifyReply {
  reply.header("content-type", "application/json; charset=utf-8");
  const pieces = gather(parts);
  const first = pieces.next().value ?? "";
  const second = pieces.next();
  if (second.done) return reply.send(first);
  return reply.send(Readable.from(encoded(first, second.value, pieces), { objectMode: false, highWaterMark: 1 }));
}

function* gather(parts: Iterable<string>): Generator<string, undefined, undefined> {
  let text = "";
  for (const part of parts) {
    text += part;
    if (text.length < pieceLength) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

/** A fast client would take all pieces in one turn, so that each waits for everything else that is ready. */
async function* encoded(first: string, second: string, rest: Iterable<string>): AsyncIterable<Buffer> {
  yield Buffer.from(first);
  yield Buffer.from(second);
  for (const piece of rest) {
    await nextTurn();
    yield Buffer.from(piece);
  }
}
