import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { formatCursor, parseCursor } from "../../engine/collection/cursor.ts";
import type { DocumentRef, Documents, FilterWrite, FilterWriteReply } from "../../engine/collection/documents.ts";
import { invalid } from "../../engine/errors.ts";
import { limits } from "../../engine/limits.ts";
import type { Schema } from "../../engine/schema/schema.ts";
import { fingerprint, type Idempotency, parseIdempotencyKey } from "../../engine/stream/idempotency.ts";
import type {
  DeleteByFilterRequest,
  DocumentService,
  PatchByFilterRequest,
  WriteDocumentsRequest,
} from "../../gen/service/collection/v1/document_pb.ts";
import {
  backlogMessage,
  canonicalText,
  documentMessage,
  parseOpMessages,
  parsePatchMessage,
  resultMessage,
} from "./document-message.ts";
import { filterOf } from "./filter.ts";
import { checkLength, checkWanted, readOptions, refOf, sendToken, toCount, toSize } from "./request.ts";

/** What an operation is taken to weigh in the commit queue where the call does not tell its length. */
const opBytes = 1024;

/** The key of the header, as in REST, or of the field. */
function idempotencyOf(
  { idempotencyKey, ops }: WriteDocumentsRequest,
  context: HandlerContext,
): Idempotency | undefined {
  const header = context.requestHeader.get("Idempotency-Key");
  if (header === null && idempotencyKey === "") return undefined;
  const key = parseIdempotencyKey(header === null ? "idempotency_key" : "Idempotency-Key", header ?? idempotencyKey);
  return { key, fingerprint: fingerprint("WriteDocuments\n", canonicalText(ops)) };
}

function bytesOf(context: HandlerContext, ops: number): number {
  const length = Number(context.requestHeader.get("content-length") ?? 0);
  return Math.max(length, ops * opBytes);
}

function filterWriteMessage(context: HandlerContext, done: FilterWriteReply) {
  return {
    matched: BigInt(done.matched),
    affected: BigInt(done.affected),
    partial: done.partial,
    nextCursor: formatCursor(done.nextCursor) ?? "",
    token: sendToken(context, done.token),
    backlog: backlogMessage(done.backlog),
  };
}

function filterWriteOf(request: DeleteByFilterRequest | PatchByFilterRequest, schema: Schema): FilterWrite {
  const filter = filterOf("filter", request.filter, schema);
  if (filter === undefined) throw invalid("filter", "is required");
  const { filterWriteDocumentsDefault, filterWriteDocumentsMax } = limits;
  return {
    filter,
    maxDocuments: toSize("max_docs", request.maxDocs, filterWriteDocumentsDefault, filterWriteDocumentsMax),
    cursor: parseCursor("cursor", request.cursor),
  };
}

export function documentService(documents: Documents): ServiceImpl<typeof DocumentService> {
  const schemaOf = (ref: DocumentRef) => documents.find(ref).schema;
  return {
    async writeDocuments(request, context) {
      const ref = refOf(request);
      checkLength("ops", request.ops, 1, limits.writeOpsMax);
      const ops = parseOpMessages(request.ops, schemaOf(ref));
      checkWanted(context);
      const done = await documents.write(ref, ops, bytesOf(context, ops.length), idempotencyOf(request, context));
      if (done.replayed) context.responseHeader.set("Idempotency-Replayed", "true");
      return {
        token: sendToken(context, done.token),
        results: done.results.map(resultMessage),
        replayed: done.replayed,
        backlog: backlogMessage(done.backlog),
      };
    },
    async getDocuments(request, context) {
      const ref = refOf(request);
      checkLength("ids", request.ids, 0, limits.getIdsMax);
      const ids = request.ids.map((id, i) => toCount(`ids[${i}]`, id));
      const options = readOptions(context, request.consistency);
      const done = await documents.get(ref, ids, options, context.signal);
      return {
        documents: done.documents.map((document, i) =>
          document === undefined ? { id: BigInt(ids[i]!), found: false } : documentMessage(document),
        ),
        token: sendToken(context, done.token),
      };
    },
    async scrollDocuments(request, context) {
      const ref = refOf(request);
      const page = {
        filter: filterOf("filter", request.filter, schemaOf(ref)),
        limit: toSize("page_size", request.pageSize || undefined, limits.scrollLimitDefault, limits.scrollLimitMax),
        cursor: parseCursor("page_token", request.pageToken),
      };
      const options = readOptions(context, request.consistency);
      const done = await documents.scroll(ref, page, options, context.signal);
      return {
        documents: done.documents.map(documentMessage),
        nextPageToken: formatCursor(done.nextCursor) ?? "",
        token: sendToken(context, done.token),
      };
    },
    async countDocuments(request, context) {
      const ref = refOf(request);
      const filter = filterOf("filter", request.filter, schemaOf(ref));
      const options = readOptions(context, request.consistency);
      const done = await documents.count(ref, filter, options, context.signal);
      return { count: BigInt(done.count), token: sendToken(context, done.token) };
    },
    async deleteByFilter(request, context) {
      const ref = refOf(request);
      const write = filterWriteOf(request, schemaOf(ref));
      const done = await documents.deleteByFilter(ref, write, readOptions(context, ""), context.signal);
      return filterWriteMessage(context, done);
    },
    async patchByFilter(request, context) {
      const ref = refOf(request);
      const write = filterWriteOf(request, schemaOf(ref));
      const patch = parsePatchMessage("patch", request.patch, schemaOf(ref));
      const done = await documents.patchByFilter(ref, write, patch, readOptions(context, ""), context.signal);
      return filterWriteMessage(context, done);
    },
  };
}
