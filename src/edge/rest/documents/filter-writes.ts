import type { FastifyReply, FastifyRequest } from "fastify";
import { formatCursor, parseCursor } from "../../../engine/collection/cursor.ts";
import type { Documents, FilterWriteReply } from "../../../engine/collection/documents.ts";
import type { Engine } from "../../../engine/engine.ts";
import { invalid } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import { neededFilter, patchShape } from "../body-shapes.ts";
import { collectionPath, refOf } from "../collections/routes.ts";
import { clientSignal, type Route, readToken, sendToken } from "../route.ts";
import { answer, count, flag, object, optional, text, token, tokenHeader } from "../schemas.ts";
import { backlogJson, parseFilterField, parsePatch } from "./json.ts";

const base = "/v1/namespaces/:ns/collections/:c/documents";
const tag = "documents";
const filterWriteBody = {
  filter: neededFilter,
  max_docs: optional({ type: "integer", minimum: 1, maximum: limits.filterWriteDocumentsMax }),
  cursor: optional(text),
};
const filterWriteAnswer = answer("What was written", {
  matched: count,
  affected: count,
  partial: flag,
  next_cursor: optional(text),
  token,
  backlog: { type: "object" },
});

function parseFilterWrite(documents: Documents, request: FastifyRequest) {
  const body = request.body as { filter: unknown; max_docs?: number | null; cursor?: string | null };
  const parsed = parseFilterField("filter", body.filter, documents.find(refOf(request)).schema);
  if (parsed === undefined) throw invalid("filter", "is required");
  return {
    filter: parsed,
    maxDocuments: body.max_docs ?? limits.filterWriteDocumentsDefault,
    cursor: parseCursor("cursor", body.cursor),
  };
}

function filterWriteJson(reply: FastifyReply, done: FilterWriteReply) {
  sendToken(reply, done.token);
  return {
    matched: done.matched,
    affected: done.affected,
    partial: done.partial,
    next_cursor: formatCursor(done.nextCursor),
    token: done.token,
    backlog: backlogJson(done.backlog),
  };
}

/** Writes to all documents that match. */
export function filterWriteRoutes({ documents }: Engine): Route[] {
  return [
    {
      method: "POST",
      url: `${base}/delete_by_filter`,
      access: "write",
      tag,
      schema: {
        summary: "Delete the documents that match a filter",
        params: collectionPath,
        headers: tokenHeader,
        body: object(filterWriteBody, ["filter"]),
        response: { 200: filterWriteAnswer },
      },
      handler: async (request, reply) => {
        const write = parseFilterWrite(documents, request);
        const options = { token: readToken(request), eventual: false };
        return filterWriteJson(
          reply,
          await documents.deleteByFilter(refOf(request), write, options, clientSignal(reply)),
        );
      },
    },
    {
      method: "POST",
      url: `${base}/patch_by_filter`,
      access: "write",
      tag,
      schema: {
        summary: "Patch the documents that match a filter; never creates one",
        params: collectionPath,
        headers: tokenHeader,
        body: object({ ...filterWriteBody, patch: patchShape }, ["filter", "patch"]),
        response: { 200: filterWriteAnswer },
      },
      handler: async (request, reply) => {
        const write = parseFilterWrite(documents, request);
        const patch = parsePatch("patch", (request.body as { patch: unknown }).patch);
        const options = { token: readToken(request), eventual: false };
        return filterWriteJson(
          reply,
          await documents.patchByFilter(refOf(request), write, patch, options, clientSignal(reply)),
        );
      },
    },
  ];
}
