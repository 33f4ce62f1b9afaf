import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { formatPageToken, parsePageToken } from "../../engine/collection/cursor.ts";
import type { DocumentRef } from "../../engine/collection/documents.ts";
import type { Engine } from "../../engine/engine.ts";
import { invalid } from "../../engine/errors.ts";
import { parseName } from "../../engine/ids.ts";
import { limits } from "../../engine/limits.ts";
import type { Queries } from "../../engine/query/queries.ts";
import { collectionNameOf, parseQuery } from "../../engine/retrieval/parse.ts";
import { searchLimits } from "../../engine/search/limits.ts";
import { CollectionService } from "../../gen/service/collection/v1/collection_pb.ts";
import { DocumentService } from "../../gen/service/collection/v1/document_pb.ts";
import { QueryService } from "../../gen/service/collection/v1/query_pb.ts";
import {
  infoMessage,
  parseAliasAction,
  parseFieldMessages,
  parseSchemaMessage,
  scanMessage,
  schemaMessage,
  versionMessage,
} from "./collection-message.ts";
import { documentService } from "./document.ts";
import type { ServedService } from "./options.ts";
import { encodedResponse, searchText } from "./query-format.ts";
import { queryJson, resultMessage } from "./query-message.ts";
import { checkLength, readOptions, readToken, refOf, sendToken, toCount, toSize } from "./request.ts";
import { served } from "./router.ts";

type CollectionEngine = Pick<Engine, "collections" | "documents" | "queries">;

/** The services of collections, their documents and the queries over them. */
export function collectionServices(engine: CollectionEngine): ServedService[] {
  return [
    served(CollectionService, collectionService(engine)),
    served(DocumentService, documentService(engine.documents)),
    served(QueryService, queryService(engine.queries)),
  ];
}

function collectionService({ collections, documents }: CollectionEngine): ServiceImpl<typeof CollectionService> {
  /** The collection of a read, once it has what the read's token names. */
  const reading = async (request: Parameters<typeof refOf>[0], context: HandlerContext): Promise<DocumentRef> => {
    const ref = refOf(request);
    const options = readOptions(context, "");
    if (options.token.length > 0) await documents.reading(ref, options, context.signal);
    return ref;
  };
  return {
    async createCollection(request) {
      const namespace = parseName("namespace", request.namespace);
      const name = parseName("name", request.name);
      return infoMessage(await collections.create(namespace, name, parseSchemaMessage("schema", request.schema)));
    },
    listCollections(request, context) {
      readToken(context);
      const namespace = parseName("namespace", request.namespace);
      const size = toSize("page_size", request.pageSize || undefined, limits.pageSizeDefault, limits.pageSizeMax);
      const { infos, nextPageToken } = collections.list(namespace, size, parsePageToken(request.pageToken));
      return { collections: infos.map(infoMessage), nextPageToken: formatPageToken(nextPageToken) };
    },
    async getCollection(request, context) {
      const { namespace, collection } = await reading(request, context);
      return infoMessage(collections.get(namespace, collection));
    },
    async dropCollection(request) {
      const { namespace, collection } = refOf(request);
      await collections.drop(namespace, collection);
      return { dropped: true };
    },
    async addFields(request) {
      const { namespace, collection } = refOf(request);
      checkLength("fields", request.fields, 1, searchLimits.fieldsMax);
      const expected = request.expectedSchemaVersion;
      const meta = await collections.addFields(
        namespace,
        collection,
        parseFieldMessages("fields", request.fields),
        expected === undefined ? undefined : toCount("expected_schema_version", expected),
      );
      return { schema: schemaMessage(meta.schema), schemaVersion: BigInt(meta.schemaVersion) };
    },
    async listVersions(request, context) {
      const { namespace, collection } = await reading(request, context);
      return { versions: collections.versions(namespace, collection).map(versionMessage) };
    },
    async scan(request, context) {
      const { namespace, collection } = await reading(request, context);
      const plan = collections.scan(namespace, collection);
      return { ...scanMessage(plan), token: sendToken(context, plan.token) };
    },
    async updateAliases(request) {
      const namespace = parseName("namespace", request.namespace);
      checkLength("actions", request.actions, 1, limits.aliasActionsMax);
      return { aliases: await collections.updateAliases(namespace, request.actions.map(parseAliasAction)) };
    },
    async setHot(request) {
      const { namespace, collection } = refOf(request);
      if (request.enabled === undefined) throw invalid("enabled", "is required");
      return { hot: await collections.setHot(namespace, collection, request.enabled) };
    },
    warmCollection(request) {
      const { namespace, collection } = refOf(request);
      collections.warm(namespace, collection);
      return { status: "accepted" };
    },
  };
}

/**
 * A search is REST's query in the shape of messages: one parser knows the rules, one engine answers. Of binary calls a
 * thread that searches makes the answer, where one can.
 */
function queryService(queries: Queries): ServiceImpl<typeof QueryService> {
  return {
    async search(request, context) {
      const namespace = parseName("namespace", request.namespace);
      const token = readToken(context);
      const query = { format: "rpc", from: collectionNameOf(request.from), token } as const;
      const answered =
        isBinary(context) && (await queries.answer(namespace, { ...query, body: searchText(request) }, context.signal));
      if (answered) {
        sendToken(context, answered.token!);
        return encodedResponse(answered.body as Uint8Array);
      }
      const plan = parseQuery(queryJson(request), (collection) => queries.schemaOf(namespace, collection));
      const result = await queries.run(namespace, plan, token, context.signal);
      return { ...resultMessage(plan, result), token: sendToken(context, result.token) };
    },
  };
}

const binaryTypes = /^application\/(?:proto|grpc(?:-web)?(?:\+proto)?)$/;

function isBinary({ requestHeader }: HandlerContext): boolean {
  return binaryTypes.test(requestHeader.get("content-type") ?? "");
}
