import type { FastifyReply, FastifyRequest } from "fastify";
import { formatCursor, parseCursor } from "../../../engine/collection/cursor.ts";
import type { WriteReply } from "../../../engine/collection/document-writer.ts";
import type { ReadOptions } from "../../../engine/collection/documents.ts";
import type { Engine } from "../../../engine/engine.ts";
import { notFound } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import { formatToken } from "../../../engine/token.ts";
import { filterField, writeOp } from "../body-shapes.ts";
import { collectionPath, refOf } from "../collections/routes.ts";
import { sendParts } from "../http/long-answer.ts";
import {
  bodyIdempotency,
  clientSignal,
  pathOf,
  type Route,
  readIdempotency,
  readToken,
  sendReplayed,
  sendToken,
} from "../route.ts";
import {
  answer,
  array,
  consistency,
  count,
  flag,
  idempotencyHeader,
  name,
  object,
  optional,
  optionalConsistency,
  optionalIdempotencyKey,
  type Schema,
  text,
  token,
  tokenHeader,
} from "../schemas.ts";
import { filterWriteRoutes } from "./filter-writes.ts";
import { backlogJson, documentText, parseFilterField, parseOps } from "./json.ts";

const anyObject: Schema = { type: "object" };
const documentAnswer = { id: count, version: count, source: anyObject, vectors: anyObject };

/** What a count is asked with, which the lane for short requests checks by itself. */
export const countBody = object({ filter: filterField, consistency: optionalConsistency });

/** What documents are written with; the lane for short requests checks it by itself too. */
export const writeBody = object(
  { ops: array(writeOp, { minItems: 1, maxItems: limits.writeOpsMax }), idempotency_key: optionalIdempotencyKey },
  ["ops"],
);

export interface WriteBody {
  readonly ops: readonly unknown[];
  readonly idempotency_key?: string | null;
}

/** The answer to a write, its token formatted already for header and body. */
export function writeReplyText({ results, replayed, backlog }: WriteReply, tokenText: string): string {
  const rest = JSON.stringify({ results, replayed, backlog: backlogJson(backlog) });
  return `{"token":${tokenText},${rest.slice(1)}`;
}

export interface Readable {
  readonly consistency?: "strong" | "eventual" | null;
}

function readOptions(request: FastifyRequest, input: Readable | undefined): ReadOptions {
  return { token: readToken(request), eventual: input?.consistency === "eventual" };
}

/** Written as text: a document's source goes out as it was stored. */
function sendText(reply: FastifyReply, body: string): FastifyReply {
  return reply.header("content-type", "application/json; charset=utf-8").send(body);
}

/** `{"documents":[…],` and the rest, a part for each document. */
function* listParts<T>(documents: readonly T[], text: (document: T, i: number) => string, rest: string) {
  yield '{"documents":[';
  for (const [i, document] of documents.entries()) yield i === 0 ? text(document, i) : `,${text(document, i)}`;
  yield `],${rest}}`;
}

const base = "/v1/namespaces/:ns/collections/:c/documents";
const tag = "documents";

export function documentRoutes(engine: Engine): Route[] {
  return [writeRoute(engine), ...getRoutes(engine), ...listRoutes(engine), ...filterWriteRoutes(engine)];
}

function writeRoute({ documents }: Engine): Route {
  return {
    method: "POST",
    url: base,
    access: "write",
    tag,
    schema: {
      summary: "Write documents: an atomic batch of upsert, insert, patch and delete",
      params: collectionPath,
      headers: idempotencyHeader,
      body: writeBody,
      response: { 200: answer("Written", { token, results: array(anyObject), replayed: flag, backlog: anyObject }) },
    },
    handler: async (request, reply) => {
      const body = request.body as WriteBody;
      const ref = refOf(request);
      const ops = await parseOps(body.ops, documents.find(ref).schema);
      const bytes = Number(request.headers["content-length"] ?? 1024);
      const idempotency = readIdempotency(request) ?? bodyIdempotency(request.method, pathOf(request), body);
      const done = await documents.write(ref, ops, bytes, idempotency);
      sendToken(reply, done.token);
      if (done.replayed) sendReplayed(reply);
      return sendText(reply, writeReplyText(done, formatToken(done.token)));
    },
  };
}

function getRoutes({ documents }: Engine): Route[] {
  return [
    {
      method: "GET",
      url: `${base}/:id`,
      access: "read",
      tag,
      schema: {
        summary: "Get one document",
        params: object({ ns: name, c: name, id: count }, ["ns", "c", "id"]),
        headers: tokenHeader,
        querystring: object({ consistency }),
        response: { 200: answer("The document", documentAnswer) },
      },
      handler: async (request, reply) => {
        const { id } = request.params as { id: number };
        const options = readOptions(request, request.query as Readable);
        const signal = options.token.length > 0 ? clientSignal(reply) : undefined;
        const { documents: found } = await documents.get(refOf(request), [id], options, signal);
        if (found[0] === undefined) throw notFound(`there is no document with the id ${id}`);
        return sendText(reply, documentText(found[0]));
      },
    },
    {
      method: "POST",
      url: `${base}/get`,
      access: "read",
      tag,
      schema: {
        summary: "Get documents by id, in the given order",
        params: collectionPath,
        headers: tokenHeader,
        body: object({ ids: array(count, { maxItems: limits.getIdsMax }), consistency: optionalConsistency }, ["ids"]),
        response: { 200: answer("The documents", { documents: array(anyObject), token }) },
      },
      handler: async (request, reply) => {
        const body = request.body as { ids: number[] } & Readable;
        const done = await documents.get(refOf(request), body.ids, readOptions(request, body), clientSignal(reply));
        sendToken(reply, done.token);
        const text = (document: (typeof done.documents)[number], i: number) =>
          document === undefined ? `{"id":${body.ids[i]},"found":false}` : documentText(document, `"found":true,`);
        return sendParts(reply, listParts(done.documents, text, `"token":${JSON.stringify(done.token)}`));
      },
    },
  ];
}

function listRoutes({ documents }: Engine): Route[] {
  return [
    {
      method: "POST",
      url: `${base}/scroll`,
      access: "read",
      tag,
      schema: {
        summary: "Page through documents by primary key",
        params: collectionPath,
        headers: tokenHeader,
        body: object({
          filter: filterField,
          limit: optional({ type: "integer", minimum: 1, maximum: limits.scrollLimitMax }),
          cursor: optional(text),
          consistency: optionalConsistency,
        }),
        response: { 200: answer("A page", { documents: array(anyObject), next_cursor: optional(text), token }) },
      },
      handler: async (request, reply) => {
        const ref = refOf(request);
        const body = (request.body ?? {}) as {
          filter?: unknown;
          limit?: number | null;
          cursor?: string | null;
        } & Readable;
        const page = {
          filter: parseFilterField("filter", body.filter, documents.find(ref).schema),
          limit: body.limit ?? limits.scrollLimitDefault,
          cursor: parseCursor("cursor", body.cursor),
        };
        const done = await documents.scroll(ref, page, readOptions(request, body), clientSignal(reply));
        const cursor = JSON.stringify(formatCursor(done.nextCursor));
        sendToken(reply, done.token);
        const rest = `"next_cursor":${cursor},"token":${JSON.stringify(done.token)}`;
        return sendParts(
          reply,
          listParts(done.documents, (document) => documentText(document), rest),
        );
      },
    },
    {
      method: "POST",
      url: `${base}/count`,
      access: "read",
      tag,
      schema: {
        summary: "Count documents",
        params: collectionPath,
        headers: tokenHeader,
        body: countBody,
        response: { 200: answer("The count", { count, token }) },
      },
      handler: async (request, reply) => {
        const ref = refOf(request);
        const body = (request.body ?? {}) as { filter?: unknown } & Readable;
        const parsed = parseFilterField("filter", body.filter, documents.find(ref).schema);
        const done = await documents.count(ref, parsed, readOptions(request, body), clientSignal(reply));
        sendToken(reply, done.token);
        return done;
      },
    },
  ];
}
